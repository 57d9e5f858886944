// The metrics of calls, plans and the log. Rules for all that the server exports: base units
// (seconds, bytes) in the name; counters end in _total; a label's values form a closed set known at
// build time, never a value taken from a request.
#ifndef SEXTANT_SERVER_METRICS_METRICS_H_
#define SEXTANT_SERVER_METRICS_METRICS_H_

#include <grpcpp/support/status.h>
#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <array>
#include <string>
#include <vector>

namespace sextant {
enum class Verdict;
}

namespace sextant::server {

// gRPC's own name of `code`, e.g. "INVALID_ARGUMENT"; "UNKNOWN" outside its set.
const char* CodeName(grpc::StatusCode code);

using CounterFamily = prometheus::Family<prometheus::Counter>;
using HistogramFamily = prometheus::Family<prometheus::Histogram>;

// The series of one RPC. Looked up once at start: a family's lookup takes a mutex.
class CallMetrics {
 public:
  CallMetrics(const std::string& method, CounterFamily& calls, HistogramFamily& duration);

  // Thread-safe.
  void Record(grpc::StatusCode code, double seconds);

 private:
  static constexpr size_t kCodeCount = 17;

  std::array<prometheus::Counter*, kCodeCount> calls_{};
  prometheus::Histogram& duration_;
};

class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  // `method` is "sextant.v1.PlanningService/PlanRun".
  CallMetrics ForMethod(const std::string& method) { return {method, calls_, duration_}; }

  prometheus::Gauge& plans_in_flight() { return plans_in_flight_; }
  prometheus::Counter& layouts_considered() { return layouts_considered_; }
  // Counts plans answered with that verdict.
  prometheus::Counter& verdict(Verdict of);

 private:
  CounterFamily& calls_;
  HistogramFamily& duration_;
  prometheus::Gauge& plans_in_flight_;
  prometheus::Counter& layouts_considered_;
  prometheus::Counter& fits_;
  prometheus::Counter& tight_;
  prometheus::Counter& does_not_fit_;
  prometheus::Counter& state_fits_;
};

// sextant_log_lines_dropped_total: dropped lines of calls and events, DroppedLogLineCount().
class LogMetrics final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_METRICS_METRICS_H_
