// What GPUs do now, as Prometheus metrics.
#ifndef SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_METRICS_H_
#define SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <vector>

#include "server/calibration_store.h"
#include "server/gpu_activity/activity_sampler.h"

namespace sextant {

// Of the store's devices alone, so that their series have the labels of all others.
class ActivityMetrics final : public prometheus::Collectable {
 public:
  using Latest = std::function<std::vector<GpuActivity>()>;

  // `store`, and what `latest` reads, outlive it.
  ActivityMetrics(const CalibrationStore& store, Latest latest);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const CalibrationStore& store_;
  const Latest latest_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_METRICS_H_
