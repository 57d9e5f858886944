#include "server/log_metrics.h"

#include "server/call_log.h"

namespace sextant {

std::vector<prometheus::MetricFamily> LogMetrics::Collect() const {
  prometheus::ClientMetric dropped;
  dropped.counter.value = static_cast<double>(DroppedLogLineCount());
  return {{.name = "sextant_log_lines_dropped_total",
           .help = "Log lines that stderr did not take at once.",
           .type = prometheus::MetricType::Counter,
           .metric = {dropped}}};
}

}  // namespace sextant
