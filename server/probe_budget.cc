#include "server/probe_budget.h"

#include <algorithm>

namespace sextant {
namespace {

// Loading libraries, filling buffers and, on a busy host, waiting for processors.
constexpr double kSlackSeconds = 10;
constexpr double kShapesSeconds = 120;

double ModeSeconds(v1::ProbeMode mode) {
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      return 2;
    case v1::PROBE_MODE_FULL:
      return 30;
    default:
      return 5;
  }
}

}  // namespace

ProbeBudget ProbeBudgetOf(v1::ProbeMode mode, bool with_shapes) {
  const double budget_seconds = ModeSeconds(mode) + (with_shapes ? kShapesSeconds : 0);
  return {.budget_seconds = budget_seconds,
          .deadline_seconds = 2 * budget_seconds + kSlackSeconds,
          .silence_seconds = budget_seconds + kSlackSeconds};
}

double ProbeRetrySeconds(double budget_seconds, double elapsed_seconds, double jitter) {
  return std::max(1.0, budget_seconds - elapsed_seconds) * (1 + jitter / 4);
}

}  // namespace sextant
