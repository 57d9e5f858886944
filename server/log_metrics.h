// The log's own metric.
#ifndef SEXTANT_SERVER_LOG_METRICS_H_
#define SEXTANT_SERVER_LOG_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace sextant {

// sextant_log_lines_dropped_total: of calls and events alike, DroppedLogLineCount().
class LogMetrics final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_LOG_METRICS_H_
