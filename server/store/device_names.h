// Names of this host's devices in requests, and the errors for wrong ones.
#ifndef SEXTANT_SERVER_STORE_DEVICE_NAMES_H_
#define SEXTANT_SERVER_STORE_DEVICE_NAMES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "sextant/v1/device.pb.h"

namespace sextant::server {

// Returns true if `name`, the value of `field`, is not empty; otherwise adds a violation.
bool RequireDeviceName(absl::string_view name, absl::string_view field,
                       FieldViolations& violations);

// kNotFound with reason DEVICE_UNKNOWN and near names of the host's `devices`.
absl::Status UnknownDevice(absl::string_view uuid, const std::vector<v1::Device>& devices);

// The same of a host that has none.
absl::Status NoDevice(absl::string_view message);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_STORE_DEVICE_NAMES_H_
