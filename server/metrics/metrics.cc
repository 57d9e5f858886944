#include "server/metrics/metrics.h"

#include "engine/base/version.h"
#include "engine/run/memory_estimate.h"
#include "server/call/log.h"

namespace sextant::server {
namespace {

// In the order of gRPC's numbers.
constexpr std::array<const char*, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// 0.25 ms to 16 s by factors of 4: single plans fall into the first two buckets.
const prometheus::Histogram::BucketBoundaries kLatencySeconds = {
    0.00025, 0.001, 0.004, 0.016, 0.064, 0.25, 1, 4, 16};

size_t CodeIndex(grpc::StatusCode code) {
  const auto index = static_cast<size_t>(code);
  return index < kCodeNames.size() ? index : size_t{grpc::StatusCode::UNKNOWN};
}

CounterFamily& VerdictFamily(prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name("sextant_plan_verdicts_total")
      .Help("Plans answered, by verdict.")
      .Register(registry);
}

}  // namespace

const char* CodeName(grpc::StatusCode code) { return kCodeNames[CodeIndex(code)]; }

CallMetrics::CallMetrics(const std::string& method, CounterFamily& calls, HistogramFamily& duration)
    : duration_(duration.Add({{"method", method}}, kLatencySeconds)) {
  for (size_t i = 0; i < kCodeNames.size(); ++i) {
    calls_[i] = &calls.Add({{"method", method}, {"code", kCodeNames[i]}});
  }
}

void CallMetrics::Record(grpc::StatusCode code, double seconds) {
  calls_[CodeIndex(code)]->Increment();
  duration_.Observe(seconds);
}

Metrics::Metrics(prometheus::Registry& registry)
    : calls_(prometheus::BuildCounter()
                 .Name("sextant_grpc_calls_total")
                 .Help("Calls answered, by method and gRPC status code.")
                 .Register(registry)),
      duration_(prometheus::BuildHistogram()
                    .Name("sextant_grpc_call_duration_seconds")
                    .Help("Time from the handler's start to its answer, by method.")
                    .Register(registry)),
      plans_in_flight_(prometheus::BuildGauge()
                           .Name("sextant_plans_in_flight")
                           .Help("Plans now being computed.")
                           .Register(registry)
                           .Add({})),
      layouts_considered_(prometheus::BuildCounter()
                              .Name("sextant_layouts_considered_total")
                              .Help("Parallel layouts evaluated by plans.")
                              .Register(registry)
                              .Add({})),
      fits_(VerdictFamily(registry).Add({{"verdict", "fits"}})),
      tight_(VerdictFamily(registry).Add({{"verdict", "tight"}})),
      does_not_fit_(VerdictFamily(registry).Add({{"verdict", "does_not_fit"}})),
      state_fits_(VerdictFamily(registry).Add({{"verdict", "state_fits"}})) {
  prometheus::BuildGauge()
      .Name("sextant_build_info")
      .Help("1, labelled with the version that runs.")
      .Register(registry)
      .Add({{"version", std::string(EngineVersion())}})
      .Set(1);
}

prometheus::Counter& Metrics::verdict(Verdict of) {
  switch (of) {
    case Verdict::kFits:
      return fits_;
    case Verdict::kTight:
      return tight_;
    case Verdict::kDoesNotFit:
      return does_not_fit_;
    case Verdict::kStateFits:
      break;
  }
  return state_fits_;
}

std::vector<prometheus::MetricFamily> LogMetrics::Collect() const {
  prometheus::ClientMetric dropped;
  dropped.counter.value = static_cast<double>(DroppedLogLineCount());
  return {{.name = "sextant_log_lines_dropped_total",
           .help = "Log lines that stderr did not take at once.",
           .type = prometheus::MetricType::Counter,
           .metric = {dropped}}};
}

}  // namespace sextant::server
