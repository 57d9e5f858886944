// Counters of probes' outcomes.
#ifndef SEXTANT_SERVER_METRICS_PROBE_METRICS_H_
#define SEXTANT_SERVER_METRICS_PROBE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::server {

// Which of the probe's figures are metrics.
enum class ProbeMetricsSet { kFleet, kFull };

// Thread-safe. A counter's series appears when it is first counted.
class ProbeMetrics {
 public:
  ProbeMetrics(prometheus::Registry& registry, ProbeMetricsSet set);

  // True where SetGpuState() shows anything: the full set alone has it.
  bool shows_gpu_state() const { return gpu_states_ != nullptr; }

  // Sets the reason why this host's GPUs can or can't be measured: "ok" or a word of
  // ProbeFailure.reason. An unknown word sets all states to 0. Before the first call there are no
  // series.
  void SetGpuState(const std::string& word);

  // Counts a probe that ended with `end`. `partial`: it measured less than planned.
  void CountRun(const absl::Status& end, bool partial);

  // Counts a wrong result.
  void CountMismatch(const v1::ProbeFailure& failure);

 private:
  prometheus::Family<prometheus::Counter>& runs_;
  prometheus::Family<prometheus::Counter>& refusals_;
  prometheus::Family<prometheus::Counter>& mismatches_;
  std::mutex gpu_states_mutex_;
  prometheus::Family<prometheus::Gauge>* gpu_states_ = nullptr;  // null: not shown
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_METRICS_PROBE_METRICS_H_
