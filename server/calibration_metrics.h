// What was measured on this host's devices, as Prometheus metrics.
#ifndef SEXTANT_SERVER_CALIBRATION_METRICS_H_
#define SEXTANT_SERVER_CALIBRATION_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <vector>

#include "server/calibration_store.h"
#include "server/matmul_error_cache.h"
#include "server/options.h"

namespace sextant {

// Made from the store at each scrape, so that it never shows a figure that is not in use.
// Devices that are not this host's are left out: those that the probe did not list or, until it
// has listed any, whose calibration names another host.
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
  mutable MatmulErrorCache matmul_errors_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_METRICS_H_
