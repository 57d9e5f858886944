// The metrics of calls, plans and the log. Rules for all that the server exports: base units
// (seconds, bytes) in the name; counters end in _total; a label's values form a closed set known at
// build time, never a value taken from a request. Series of calls, plans and probes appear when
// they are first counted: those of an idle server would be hundreds, at zero.
#ifndef SEXTANT_SERVER_METRICS_METRICS_H_
#define SEXTANT_SERVER_METRICS_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace sextant {
enum class Verdict;
}

namespace sextant::server {

// gRPC's name of `code`, e.g. "INVALID_ARGUMENT"; "UNKNOWN" outside its set.
const char* CodeName(absl::StatusCode code);

// The protocol that carries a call.
enum class Protocol { kGrpc, kConnect };

// "grpc" or "connect".
const char* ProtocolName(Protocol protocol);

using CounterFamily = prometheus::Family<prometheus::Counter>;
using HistogramFamily = prometheus::Family<prometheus::Histogram>;

// A series that its family gets at its first use. A family's lookup takes a mutex: later uses take
// none. Thread-safe.
template <typename Metric>
class LazySeries {
 public:
  // `add()` returns the family's series of the same labels at every call, as Family::Add() does.
  template <typename Add>
  Metric& GetOrAdd(Add add) {
    Metric* metric = metric_.load(std::memory_order_acquire);
    if (metric == nullptr) {
      metric = &add();
      metric_.store(metric, std::memory_order_release);
    }
    return *metric;
  }

 private:
  std::atomic<Metric*> metric_{nullptr};
};

// The series of one RPC.
class CallMetrics {
 public:
  CallMetrics(std::string method, CounterFamily& calls, HistogramFamily& duration);

  // Thread-safe.
  void Record(Protocol protocol, absl::StatusCode code, double seconds);

 private:
  static constexpr size_t kCodeCount = 17;

  struct OfProtocol {
    std::array<LazySeries<prometheus::Counter>, kCodeCount> calls;
    LazySeries<prometheus::Histogram> duration;
  };

  const std::string method_;
  CounterFamily& call_family_;
  HistogramFamily& duration_family_;
  std::array<OfProtocol, 2> by_protocol_;
};

// The series of the calls that wait for one pool of threads. Thread-safe.
class WaitMetrics {
 public:
  WaitMetrics(std::string pool, prometheus::Gauge& waiting, HistogramFamily& wait)
      : pool_(std::move(pool)), waiting_(waiting), wait_family_(wait) {}

  prometheus::Gauge& waiting() { return waiting_; }
  // Counts a call that begins after `seconds`.
  void Record(double seconds);

 private:
  const std::string pool_;
  prometheus::Gauge& waiting_;
  HistogramFamily& wait_family_;
  LazySeries<prometheus::Histogram> wait_;
};

// The counts of jobs of schedulers. `caller` and `verdict` are of closed sets. Thread-safe.
class AdmissionMetrics {
 public:
  explicit AdmissionMetrics(prometheus::Registry& registry);

  prometheus::Counter& judged(const char* caller, const char* verdict) {
    return judged_.Add({{"caller", caller}, {"verdict", verdict}});
  }
  // Adds jobs that no planner judged and errors, as a hook of that kind has counted them.
  void AddHookCounts(const char* caller, int64_t unanswered, int64_t errors);

 private:
  CounterFamily& judged_;
  CounterFamily& unanswered_;
  CounterFamily& hook_errors_;
};

class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  // `method` is "sextant.v1.PlanningService/PlanRun".
  CallMetrics ForMethod(const std::string& method) { return {method, calls_, duration_}; }

  // `pool` is "searches".
  std::shared_ptr<WaitMetrics> ForPool(const std::string& pool);

  prometheus::Gauge& plans_in_flight() { return plans_in_flight_; }
  prometheus::Counter& layouts_considered() { return layouts_considered_; }
  AdmissionMetrics& admissions() { return admissions_; }
  // Counts plans answered with that verdict; its series exists from this call on.
  prometheus::Counter& verdict(Verdict of);

 private:
  CounterFamily& calls_;
  HistogramFamily& duration_;
  prometheus::Family<prometheus::Gauge>& waiting_;
  HistogramFamily& wait_;
  prometheus::Gauge& plans_in_flight_;
  prometheus::Counter& layouts_considered_;
  CounterFamily& verdicts_;
  AdmissionMetrics admissions_;
  LazySeries<prometheus::Counter> fits_;
  LazySeries<prometheus::Counter> tight_;
  LazySeries<prometheus::Counter> does_not_fit_;
  LazySeries<prometheus::Counter> state_fits_;
};

// sextant_log_lines_dropped_total: dropped lines of calls and events, DroppedLogLineCount().
class LogMetrics final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_METRICS_METRICS_H_
