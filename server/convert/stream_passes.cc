#include "server/convert/stream_passes.h"

namespace sextant {
namespace {

static_assert(static_cast<int>(StreamPattern::kTriad) + 1 ==
              v1::StreamMeasurement::OPERATION_TRIAD);

StreamPattern PatternFrom(v1::StreamMeasurement::Operation wire) {
  return static_cast<StreamPattern>(static_cast<int>(wire) - 1);
}

}  // namespace

StreamCalibration StreamPassesFrom(const v1::Calibration& calibration) {
  StreamCalibration out = {.processor = calibration.device().kind() == v1::DEVICE_KIND_CPU};
  if (calibration.device().has_cache_bytes()) {
    out.cache_bytes = static_cast<double>(calibration.device().cache_bytes());
  }
  for (const v1::StreamMeasurement& m : calibration.streams()) {
    out.streams.push_back({.pattern = PatternFrom(m.operation()),
                           .array_bytes = m.array_bytes(),
                           .main_memory = m.main_memory(),
                           .time = Seconds(m.time().median_seconds())});
  }
  for (const v1::ElementwiseMeasurement& m : calibration.elementwise()) {
    out.ladder.push_back({.multiply_adds = m.multiply_add_count(),
                          .array_bytes = m.array_bytes(),
                          .time = Seconds(m.time().median_seconds())});
  }
  for (const v1::RegisterMeasurement& m : calibration.registers()) {
    if (m.data_type() == v1::DATA_TYPE_FP32) out.arithmetic = FlopsPerSecond(m.flops_per_second());
  }
  return out;
}

}  // namespace sextant
