#include "server/calibration_snapshot.h"

namespace sextant {

const v1::Device* CalibrationSnapshot::FindDevice(absl::string_view uuid) const {
  for (const v1::Device& device : devices) {
    if (device.uuid() == uuid) return &device;
    if (uuid == "host" && device.kind() == v1::DEVICE_KIND_CPU) return &device;
  }
  return nullptr;
}

const StoredCalibration* CalibrationSnapshot::Find(absl::string_view uuid) const {
  const v1::Device* device = FindDevice(uuid);
  if (device == nullptr) return nullptr;
  for (const auto& stored : calibrations) {
    if (stored->calibration.device().uuid() == device->uuid()) return stored.get();
  }
  return nullptr;
}

}  // namespace sextant
