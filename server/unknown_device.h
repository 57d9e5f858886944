// The answer to a device's name that this host does not know.
#ifndef SEXTANT_SERVER_UNKNOWN_DEVICE_H_
#define SEXTANT_SERVER_UNKNOWN_DEVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// device "x" is not known; near names: ...; all: sextant devices (HardwareService.ListDevices)
std::string UnknownDeviceMessage(absl::string_view uuid, const std::vector<v1::Device>& devices);

// kNotFound with reason DEVICE_UNKNOWN.
absl::Status UnknownDevice(absl::string_view message);

}  // namespace sextant

#endif  // SEXTANT_SERVER_UNKNOWN_DEVICE_H_
