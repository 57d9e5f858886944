// Finds the devices that a request names, among all that a server knows.
#ifndef SEXTANT_SERVER_DEVICE_DEVICE_FINDER_H_
#define SEXTANT_SERVER_DEVICE_DEVICE_FINDER_H_

#include <chrono>
#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/device_selection.h"
#include "server/convert/device_resolver.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/device_selector.pb.h"

namespace sextant::server {

class FleetReader;

struct DeviceSources {
  SuppliedCalibrations& supplied;   // reads calibrations of requests
  const CalibrationSnapshot& host;  // outlives the resolved selections: their texts point into it
  absl::Time now = {};
  FleetReader* fleet = nullptr;  // null: this server reads no fleet's metrics
};

class DeviceFinder final : public DeviceResolver {
 public:
  explicit DeviceFinder(const DeviceSources& sources) : sources_(sources) {}

  // Violations: a selector or a list that is empty, empty names, lists that are too long,
  // calibrations that make no sense or were measured after `sources.now`. A device that the host
  // lacks comes with its error, kNotFound DEVICE_UNKNOWN with near names.
  DeviceSelection Resolve(const v1::DeviceSelector& wire, absl::string_view path,
                          absl::optional<double> maximum_age_seconds,
                          FieldViolations& violations) const override;

  std::vector<const DeviceModel*> TrustedModels() const override;

 private:
  const DeviceSources sources_;
};

// Calls `then` once, after the fleet's rates that `devices` name were read (FleetReader::
// WhenRead()), or when it is time to go on without them (FleetWaitEnd()): at once, here, where
// there is nothing to read. `deadline` is the call's. Selectors that are wrong, or of a server
// without `reader`, are left to DeviceFinder. `devices` live until then.
void AfterFleet(FleetReader* reader, const std::vector<const v1::DeviceSelector*>& devices,
                std::chrono::system_clock::time_point deadline, std::function<void()> then);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_DEVICE_DEVICE_FINDER_H_
