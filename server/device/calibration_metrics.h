// The figures measured on this host's devices, as Prometheus metrics.
#ifndef SEXTANT_SERVER_DEVICE_CALIBRATION_METRICS_H_
#define SEXTANT_SERVER_DEVICE_CALIBRATION_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <vector>

#include "server/metrics/probe_metrics.h"
#include "server/store/calibration_store.h"

namespace sextant::server {

// Built from the store at each scrape, so that a figure that is not in use is never shown. Leaves
// out devices of other hosts: those that the probe did not list or, until it has listed any, whose
// calibration names another host.
class CalibrationMetrics final : public prometheus::Collectable {
 public:
  using Now = std::function<std::chrono::system_clock::time_point()>;

  // `store` outlives it.
  CalibrationMetrics(const CalibrationStore& store, ProbeMetricsSet set,
                     Now now = std::chrono::system_clock::now);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const CalibrationStore& store_;
  const ProbeMetricsSet set_;
  const Now now_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_DEVICE_CALIBRATION_METRICS_H_
