#include "gpu_probe/elementwise_summary.h"

#include <algorithm>

namespace sextant::probe {

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
