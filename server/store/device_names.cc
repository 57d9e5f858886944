#include "server/store/device_names.h"

#include "engine/base/near_names.h"
#include "engine/base/reason.h"

namespace sextant::server {
namespace {

constexpr char kDeviceUnknown[] = "DEVICE_UNKNOWN";

}  // namespace

bool RequireDeviceName(absl::string_view name, absl::string_view field,
                       FieldViolations& violations) {
  if (!name.empty()) return true;
  violations.Add(field,
                 "is empty: write a device's UUID (sextant devices), or host for the host's "
                 "processor");
  return false;
}

absl::Status UnknownDevice(absl::string_view uuid, const std::vector<v1::Device>& devices) {
  std::vector<KnownName> names;
  for (const v1::Device& device : devices) {
    if (device.kind() == v1::DEVICE_KIND_CPU) {
      names.push_back({.name = "host", .also = device.product_name()});
    }
    names.push_back({.name = device.uuid(), .also = device.product_name()});
  }
  return WithReason(
      UnknownNameError("device", uuid, names, "sextant devices (HardwareService.ListDevices)"),
      kDeviceUnknown);
}

absl::Status NoDevice(absl::string_view message) {
  return WithReason(absl::NotFoundError(message), kDeviceUnknown);
}

}  // namespace sextant::server
