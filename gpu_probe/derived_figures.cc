#include "gpu_probe/derived_figures.h"

#include <algorithm>

namespace sextant::probe {
namespace {

struct DenseRate {
  const char* compute_capability;
  v1::DataType type;
  double flops;
};

constexpr DenseRate kDenseRates[] = {
    {"8.0", v1::DATA_TYPE_FP16, 2048},       {"8.0", v1::DATA_TYPE_BF16, 2048},
    {"8.0", v1::DATA_TYPE_TF32, 1024},       {"8.0", v1::DATA_TYPE_INT8, 4096},
    {"8.0", v1::DATA_TYPE_FP64, 128},        {"9.0", v1::DATA_TYPE_FP16, 4096},
    {"9.0", v1::DATA_TYPE_BF16, 4096},       {"9.0", v1::DATA_TYPE_TF32, 2048},
    {"9.0", v1::DATA_TYPE_INT8, 8192},       {"9.0", v1::DATA_TYPE_FP8_E4M3, 8192},
    {"9.0", v1::DATA_TYPE_FP8_E5M2, 8192},   {"9.0", v1::DATA_TYPE_FP64, 256},
    {"10.0", v1::DATA_TYPE_FP16, 8192},      {"10.0", v1::DATA_TYPE_BF16, 8192},
    {"10.0", v1::DATA_TYPE_TF32, 4096},      {"10.0", v1::DATA_TYPE_FP8_E4M3, 16384},
    {"10.0", v1::DATA_TYPE_FP8_E5M2, 16384},
};

}  // namespace

double DenseFlopsPerClock(absl::string_view compute_capability, v1::DataType type) {
  for (const DenseRate& rate : kDenseRates) {
    if (rate.compute_capability == compute_capability && rate.type == type) return rate.flops;
  }
  return 0;
}

double ClockLimit(const v1::Device& device, v1::DataType type, double hertz) {
  return DenseFlopsPerClock(device.compute_capability(), type) *
         static_cast<double>(device.compute_unit_count()) * hertz;
}

void FillRidge(int64_t fewest, int64_t most, v1::Calibration* calibration) {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  bool has_fewest = false;
  bool has_most = false;
  for (const v1::ElementwiseMeasurement& step : calibration->elementwise()) {
    flops_per_second = std::max(flops_per_second, step.flops_per_second());
    bytes_per_second = std::max(bytes_per_second, step.bytes_per_second());
    has_fewest |= step.multiply_add_count() == fewest;
    has_most |= step.multiply_add_count() == most;
  }
  if (!has_fewest || !has_most) return;
  calibration->set_ridge_flops_per_byte(flops_per_second / bytes_per_second);
}

void FillFusionSpeedup(v1::Calibration* calibration) {
  if (!calibration->has_fusion()) return;
  v1::FusionMeasurement* const fusion = calibration->mutable_fusion();
  if (!fusion->has_unfused_time() || !fusion->has_fused_time()) {
    calibration->clear_fusion();
    return;
  }
  fusion->set_speedup_ratio(fusion->unfused_time().median_seconds() /
                            fusion->fused_time().median_seconds());
}

}  // namespace sextant::probe
