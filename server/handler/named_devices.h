// The devices of this host that a request names, with their calibrations.
#ifndef SEXTANT_SERVER_HANDLER_NAMED_DEVICES_H_
#define SEXTANT_SERVER_HANDLER_NAMED_DEVICES_H_

#include <string>
#include <vector>

#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "server/store/calibration_snapshot.h"
#include "sextant/v1/cluster.pb.h"

namespace sextant::server {

// One for each of cluster.device_uuids, "host" meaning this host's processor. A name that no
// device has comes with its error, kNotFound DEVICE_UNKNOWN with near names. More than
// kMaxNamedDevices are a violation. Texts point into `snapshot`.
std::vector<NamedDevice> NamedDevicesFrom(const v1::ClusterSpec& cluster,
                                          const CalibrationSnapshot& snapshot,
                                          const CalibrationQuery& query,
                                          FieldViolations& violations);

// One such device, with the calibration that `query` finds.
NamedDevice NamedDeviceFrom(const std::string& name, const CalibrationSnapshot& snapshot,
                            const CalibrationQuery& query);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_NAMED_DEVICES_H_
