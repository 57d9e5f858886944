#include "engine/run/measured_gang.h"

namespace sextant {
namespace {

void Join(const DeviceCalibration& calibration, DataType type, MeasuredGang& gang) {
  if (gang.smallest == nullptr || calibration.memory < gang.smallest->memory) {
    gang.smallest = &calibration;
  }
  const MeasuredMatmul* matmul = calibration.MatmulIn(type);
  if (matmul == nullptr) return;
  if (gang.matmul == nullptr || matmul->rate < gang.matmul->rate) {
    gang.slowest = &calibration;
    gang.matmul = matmul;
  }
}

}  // namespace

absl::optional<MeasuredGang> MeasuredGangOf(const ClusterSpec& cluster, DataType type) {
  if (cluster.devices.empty() && cluster.calibrations.empty()) return absl::nullopt;
  MeasuredGang out;
  if (!cluster.devices.empty()) out.source = RateSource::kMeasuredDevice;
  out.named_count = static_cast<int64_t>(cluster.devices.size() + cluster.calibrations.size());
  for (const NamedDevice& device : cluster.devices) {
    if (device.calibration.has_value()) Join(*device.calibration, type, out);
  }
  for (const DeviceCalibration& calibration : cluster.calibrations) Join(calibration, type, out);
  return out;
}

}  // namespace sextant
