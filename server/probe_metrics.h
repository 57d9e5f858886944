// Counters of what became of probes.
#ifndef SEXTANT_SERVER_PROBE_METRICS_H_
#define SEXTANT_SERVER_PROBE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// Thread-safe. Every series is there from the start, at 0.
class ProbeMetrics {
 public:
  explicit ProbeMetrics(prometheus::Registry& registry);

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
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_METRICS_H_
