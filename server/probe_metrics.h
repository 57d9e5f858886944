// Counters of what became of probes.
#ifndef SEXTANT_SERVER_PROBE_METRICS_H_
#define SEXTANT_SERVER_PROBE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "server/options.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// Thread-safe. Every counter is there from the start, at 0.
class ProbeMetrics {
 public:
  ProbeMetrics(prometheus::Registry& registry, ProbeMetricsSet set);

  // Whether SetGpuState() shows anything: the full set alone has it.
  bool shows_gpu_state() const { return gpu_states_ != nullptr; }

  // Says why this host's GPUs can or can't be measured, by "ok" or a word of ProbeFailure.reason;
  // none of the states is 1 where the word is not one of them. Until then there are no series.
  void SetGpuState(const std::string& word);

  // Counts a probe that ended with `end`; `partial`: with less than it had planned.
  void CountRun(const absl::Status& end, bool partial);

  // Counts a result that was wrong.
  void CountMismatch(const v1::ProbeFailure& failure);

 private:
  // By the label's value, "other" for all that have none; never changed once made.
  using Counters = std::map<std::string, prometheus::Counter*>;

  Counters runs_;
  Counters refusals_;
  Counters mismatches_;
  std::mutex gpu_states_mutex_;
  prometheus::Family<prometheus::Gauge>* gpu_states_ = nullptr;  // null: not shown
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_METRICS_H_
