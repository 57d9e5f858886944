#include "server/metrics/metrics.h"

#include <utility>

#include "engine/base/version.h"
#include "engine/run/memory_estimate.h"
#include "server/base/log.h"

namespace sextant::server {
namespace {

// By their numbers, which absl and gRPC share.
constexpr std::array<const char*, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Each is a series of every method and pool. Single plans fall into the first two, searches into
// the rest.
const prometheus::Histogram::BucketBoundaries kLatencySeconds = {0.001, 0.005, 0.025, 0.1, 1, 10};

size_t CodeIndex(absl::StatusCode code) {
  const auto index = static_cast<size_t>(code);
  return index < kCodeNames.size() ? index : static_cast<size_t>(absl::StatusCode::kUnknown);
}

CounterFamily& CountersIn(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

}  // namespace

const char* CodeName(absl::StatusCode code) { return kCodeNames[CodeIndex(code)]; }

const char* ProtocolName(Protocol protocol) {
  return protocol == Protocol::kGrpc ? "grpc" : "connect";
}

CallMetrics::CallMetrics(std::string method, CounterFamily& calls, HistogramFamily& duration)
    : method_(std::move(method)), call_family_(calls), duration_family_(duration) {}

void CallMetrics::Record(Protocol protocol, absl::StatusCode code, double seconds) {
  const size_t index = CodeIndex(code);
  const char* const name = ProtocolName(protocol);
  const auto add_counter = [&]() -> prometheus::Counter& {
    return call_family_.Add({{"method", method_}, {"code", kCodeNames[index]}, {"protocol", name}});
  };
  const auto add_histogram = [&]() -> prometheus::Histogram& {
    return duration_family_.Add({{"method", method_}, {"protocol", name}}, kLatencySeconds);
  };
  OfProtocol& its = by_protocol_[static_cast<size_t>(protocol)];
  its.calls[index].GetOrAdd(add_counter).Increment();
  its.duration.GetOrAdd(add_histogram).Observe(seconds);
}

void WaitMetrics::Record(double seconds) {
  const auto add = [this]() -> prometheus::Histogram& {
    return wait_family_.Add({{"pool", pool_}}, kLatencySeconds);
  };
  wait_.GetOrAdd(add).Observe(seconds);
}

AdmissionMetrics::AdmissionMetrics(prometheus::Registry& registry)
    : judged_(CountersIn(registry, "sextant_admissions_total",
                         "Jobs judged for a scheduler, by the kind of caller and verdict; "
                         "refused: their words were wrong.")),
      unanswered_(CountersIn(registry, "sextant_admissions_unanswered_total",
                             "Jobs with words that no planner judged, as hooks of schedulers "
                             "counted them, by the kind of caller.")),
      hook_errors_(CountersIn(registry, "sextant_hook_errors_total",
                              "Run-time errors of hooks of schedulers, as they counted them, by "
                              "the kind of caller.")) {}

void AdmissionMetrics::AddHookCounts(const char* caller, int64_t unanswered, int64_t errors) {
  const prometheus::Labels labels{{"caller", caller}};
  if (unanswered > 0) unanswered_.Add(labels).Increment(static_cast<double>(unanswered));
  if (errors > 0) hook_errors_.Add(labels).Increment(static_cast<double>(errors));
}

Metrics::Metrics(prometheus::Registry& registry)
    : calls_(CountersIn(registry, "sextant_calls_total",
                        "Calls answered, by method, gRPC status code and protocol.")),
      duration_(prometheus::BuildHistogram()
                    .Name("sextant_call_duration_seconds")
                    .Help("Time from the handler's start to its answer, by method and protocol.")
                    .Register(registry)),
      waiting_(prometheus::BuildGauge()
                   .Name("sextant_calls_waiting")
                   .Help("Calls that have not begun on their pool's threads, by pool. Those that "
                         "have, and pause while others have their turns, do not count.")
                   .Register(registry)),
      wait_(prometheus::BuildHistogram()
                .Name("sextant_call_wait_seconds")
                .Help("Time from a call's arrival at its pool until it begins there, by pool. "
                      "Later pauses, in which others have their turns, do not count.")
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
      verdicts_(CountersIn(registry, "sextant_plan_verdicts_total", "Plans answered, by verdict.")),
      admissions_(registry) {
  prometheus::BuildGauge()
      .Name("sextant_build_info")
      .Help("1, labelled with the version that runs.")
      .Register(registry)
      .Add({{"version", std::string(EngineVersion())}})
      .Set(1);
}

std::shared_ptr<WaitMetrics> Metrics::ForPool(const std::string& pool) {
  return std::make_shared<WaitMetrics>(pool, waiting_.Add({{"pool", pool}}), wait_);
}

prometheus::Counter& Metrics::verdict(Verdict of) {
  const auto named = [this](const char* name) {
    return [this, name]() -> prometheus::Counter& { return verdicts_.Add({{"verdict", name}}); };
  };
  switch (of) {
    case Verdict::kFits:
      return fits_.GetOrAdd(named("fits"));
    case Verdict::kTight:
      return tight_.GetOrAdd(named("tight"));
    case Verdict::kDoesNotFit:
      return does_not_fit_.GetOrAdd(named("does_not_fit"));
    case Verdict::kStateFits:
      break;
  }
  return state_fits_.GetOrAdd(named("state_fits"));
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
