#include "server/metrics/probe_metrics.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/reason.h"

namespace sextant::server {
namespace {

constexpr const char* kGpuStates[] = {"ok",   "no_driver", "driver_too_old", "no_device",
                                      "stub", "mismatch",  "no_cublaslt",    "built_without_cuda"};
constexpr absl::string_view kRefusals[] = {"busy",   "memory",     "threads",    "mig",
                                           "mps",    "hot",        "ecc",        "mode",
                                           "locked", "unreadable", "unsupported"};
constexpr absl::string_view kChecks[] = {"registers",   "matmul", "memory",         "cache",
                                         "elementwise", "fusion", "attention",      "host_copy",
                                         "collective",  "peer",   "multiprocessor", "ecc"};

// `word`, or "other" where it is none of `known`: a label's values are a closed set.
std::string KnownOrOther(absl::string_view word, absl::Span<const absl::string_view> known) {
  const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
  return std::string(is_known ? word : "other");
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
    : runs_(prometheus::BuildCounter()
                .Name("sextant_gpu_probe_runs_total")
                .Help("Probes that this server ran, by how they ended.")
                .Register(registry)),
      refusals_(prometheus::BuildCounter()
                    .Name("sextant_gpu_probe_refusals_total")
                    .Help("Probes that refused to measure, by reason.")
                    .Register(registry)),
      mismatches_(prometheus::BuildCounter()
                      .Name("sextant_gpu_probe_mismatches_total")
                      .Help("Results of probes that were wrong, by check. Do not trust a "
                            "device that has any.")
                      .Register(registry)) {
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
  runs_.Add({{"outcome", outcome}}).Increment();
  if (outcome != "refused") return;
  for (const auto& [key, value] : MetadataOf(end)) {
    if (key == "reason") refusals_.Add({{"reason", KnownOrOther(value, kRefusals)}}).Increment();
  }
}

void ProbeMetrics::CountMismatch(const v1::ProbeFailure& failure) {
  mismatches_.Add({{"check", KnownOrOther(failure.reason(), kChecks)}}).Increment();
}

}  // namespace sextant::server
