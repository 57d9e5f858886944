#include "server/metrics/probe_metrics.h"

#include <vector>

#include "engine/base/reason.h"

namespace sextant::server {
namespace {

constexpr char kOther[] = "other";

constexpr const char* kGpuStates[] = {"ok",   "no_driver", "driver_too_old", "no_device",
                                      "stub", "mismatch",  "no_cublaslt",    "built_without_cuda"};

std::map<std::string, prometheus::Counter*> AddCounters(
    prometheus::Family<prometheus::Counter>& family, const std::string& label,
    const std::vector<std::string>& values) {
  std::map<std::string, prometheus::Counter*> out;
  for (const std::string& value : values) out[value] = &family.Add({{label, value}});
  return out;
}

void Increment(const std::map<std::string, prometheus::Counter*>& counters,
               const std::string& value) {
  const auto found = counters.find(value);
  (found != counters.end() ? found : counters.find(kOther))->second->Increment();
}

std::string OutcomeOf(const absl::Status& end, bool partial) {
  if (end.ok()) return partial ? "partial" : "ok";
  if (absl::IsCancelled(end)) return "cancelled";
  const std::string reason = ReasonOf(end);
  if (reason == "PROBE_REFUSED") return "refused";
  return reason == "PROBE_TIMEOUT" ? "timeout" : "failed";
}

}  // namespace

ProbeMetrics::ProbeMetrics(prometheus::Registry& registry, ProbeMetricsSet set)
    : runs_(AddCounters(prometheus::BuildCounter()
                            .Name("sextant_gpu_probe_runs_total")
                            .Help("Probes that this server ran, by how they ended.")
                            .Register(registry),
                        "outcome", {"ok", "partial", "refused", "failed", "timeout", "cancelled"})),
      refusals_(AddCounters(prometheus::BuildCounter()
                                .Name("sextant_gpu_probe_refusals_total")
                                .Help("Probes that refused to measure, by reason.")
                                .Register(registry),
                            "reason",
                            {"busy", "memory", "threads", "mig", "mps", "hot", "ecc", "mode",
                             "locked", "unreadable", "unsupported", kOther})),
      mismatches_(AddCounters(
          prometheus::BuildCounter()
              .Name("sextant_gpu_probe_mismatches_total")
              .Help("Results of probes that were wrong, by check. Do not trust a "
                    "device that has any.")
              .Register(registry),
          "check",
          {"registers", "matmul", "memory", "cache", "elementwise", "fusion", "attention",
           "host_copy", "collective", "peer", "multiprocessor", "ecc", kOther})) {
  if (set != ProbeMetricsSet::kFull) return;
  gpu_states_ = &prometheus::BuildGauge()
                     .Name("sextant_gpu_probe_state")
                     .Help(
                         "1 for what keeps GPUs of this host from being measured, or for ok; "
                         "all 0 where it is none of these.")
                     .Register(registry);
}

void ProbeMetrics::SetGpuState(const std::string& word) {
  if (!shows_gpu_state()) return;
  const std::lock_guard<std::mutex> lock(gpu_states_mutex_);
  for (const char* state : kGpuStates) {
    gpu_states_->Add({{"state", state}}).Set(word == state ? 1 : 0);
  }
}

void ProbeMetrics::CountRun(const absl::Status& end, bool partial) {
  const std::string outcome = OutcomeOf(end, partial);
  Increment(runs_, outcome);
  if (outcome != "refused") return;
  for (const auto& [key, value] : MetadataOf(end)) {
    if (key == "reason") Increment(refusals_, value);
  }
}

void ProbeMetrics::CountMismatch(const v1::ProbeFailure& failure) {
  Increment(mismatches_, failure.reason());
}

}  // namespace sextant::server
