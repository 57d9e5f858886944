// How long a probe may take.
#ifndef SEXTANT_SERVER_PROBE_BUDGET_H_
#define SEXTANT_SERVER_PROBE_BUDGET_H_

#include "sextant/v1/probe.pb.h"

namespace sextant {

struct ProbeBudget {
  double budget_seconds = 0;    // when the probe itself comes to its end
  double deadline_seconds = 0;  // when it is killed
  double silence_seconds = 0;   // how long it may go without a word
};

// For one device in `mode`, and shapes of the caller's or none.
ProbeBudget ProbeBudgetOf(v1::ProbeMode mode, bool with_shapes);

// When a caller should try again whose probe another one, of `budget_seconds` and
// `elapsed_seconds` old, stands in the way of: what that has left, at least a second, and up
// to a quarter more by `jitter`, 0 to 1, so that those who wait don't come back all at once.
double ProbeRetrySeconds(double budget_seconds, double elapsed_seconds, double jitter);

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_BUDGET_H_
