#include "server/handler/named_devices.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/probe/device_list.h"

namespace sextant::server {

NamedDevice NamedDeviceFrom(const std::string& name, const CalibrationSnapshot& snapshot,
                            const CalibrationQuery& query) {
  const v1::Device* device = snapshot.FindDevice(name);
  if (device == nullptr) {
    return {.found = UnknownDevice(UnknownDeviceMessage(name, snapshot.devices))};
  }
  NamedDevice out = {.found = {},
                     .uuid = device->uuid(),
                     .product_name = device->product_name(),
                     .distrusted = snapshot.distrusted.count(device->uuid()) > 0};
  const StoredCalibration* stored = snapshot.Find(name, query);
  if (stored == nullptr) return out;
  out.model = stored->model;
  out.age_seconds = absl::ToDoubleSeconds(
      query.now - absl::FromUnixSeconds(out.model->calibration().measured_unix_seconds));
  return out;
}

std::vector<NamedDevice> NamedDevicesFrom(const v1::ClusterSpec& cluster,
                                          const CalibrationSnapshot& snapshot,
                                          const CalibrationQuery& query,
                                          FieldViolations& violations) {
  std::vector<NamedDevice> out;
  if (cluster.device_uuids_size() > kMaxNamedDevices) {
    violations.Add("cluster.device_uuids", absl::StrCat("are ", cluster.device_uuids_size(),
                                                        ": name at most ", kMaxNamedDevices));
    return out;
  }
  out.reserve(static_cast<size_t>(cluster.device_uuids_size()));
  for (const std::string& name : cluster.device_uuids()) {
    out.push_back(NamedDeviceFrom(name, snapshot, query));
  }
  return out;
}

}  // namespace sextant::server
