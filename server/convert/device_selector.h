// The devices that a request names.
#ifndef SEXTANT_SERVER_CONVERT_DEVICE_SELECTOR_H_
#define SEXTANT_SERVER_CONVERT_DEVICE_SELECTOR_H_

#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/run/device_selection.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/device_selector.pb.h"

namespace sextant::server {

class FleetReader;

// The sources in which a server finds the devices that requests name.
struct DeviceSources {
  SuppliedCalibrations& supplied;   // reads calibrations of requests
  const CalibrationSnapshot& host;  // outlives the translated selections: their texts point into it
  absl::Time now = {};
  FleetReader* fleet = nullptr;  // null: this server reads no fleet's metrics
};

// Translates `wire`, the field `path`; texts point into it. Appends to `violations` what only the
// wire can get wrong: a selector or a list that is empty, empty names, lists that are too long,
// calibrations that make no sense or were measured after `sources.now`. Devices that the host lacks
// come with their error, kNotFound DEVICE_UNKNOWN with near names. `maximum_age_seconds` is the
// request's limit for measurements of the host's devices.
DeviceSelection DeviceSelectionFrom(const v1::DeviceSelector& wire, absl::string_view path,
                                    const DeviceSources& sources,
                                    absl::optional<double> maximum_age_seconds,
                                    FieldViolations& violations);

// Appends violations of `wire`, the field `path`, that a read of the fleet's metrics can't correct.
void CheckFleet(const v1::FleetDevices& wire, absl::string_view path, FieldViolations& violations);

// Calls `then` once, after the fleet's rates that `devices` name were read (FleetReader::
// WhenRead()): at once, here, where there is nothing to read. Selectors that are wrong, or of a
// server without `reader`, are left to DeviceSelectionFrom(). `devices` live until then.
void AfterFleet(FleetReader* reader, const std::vector<const v1::DeviceSelector*>& devices,
                std::function<void()> then);

// The same rule for a field `field` that holds one device of the host. Returns true where `name` is
// not empty, else adds a violation.
bool RequireDeviceName(absl::string_view name, absl::string_view field,
                       FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_DEVICE_SELECTOR_H_
