// How long a probe may take, in seconds from its start.
#ifndef SEXTANT_GPU_PROBE_BUDGET_H_
#define SEXTANT_GPU_PROBE_BUDGET_H_

#include "sextant/v1/probe.pb.h"

namespace sextant {

inline constexpr double kMinimumBudgetSeconds = 0.1;
inline constexpr double kMaximumBudgetSeconds = 3600;

// Shapes that were asked for may be large, and get this much more.
inline constexpr double kOwnShapesSeconds = 120;

// The soft deadline where none is asked for.
constexpr double DefaultBudgetSeconds(v1::ProbeMode mode, bool own_shapes) {
  const double more_seconds = own_shapes ? kOwnShapesSeconds : 0;
  if (mode == v1::PROBE_MODE_QUICK) return 2 + more_seconds;
  if (mode == v1::PROBE_MODE_FULL) return 30 + more_seconds;
  return 5 + more_seconds;
}

// The share of a budget that is kept for the end of the process at most.
inline constexpr double kMaximumEndingShare = 0.1;

// By when one figure of each kind must be there where the host is so busy that the budget was
// not enough for them; no other sample starts after the budget. Leaves a second to write.
constexpr double LastFigureSeconds(double budget_seconds) { return 2 * budget_seconds; }

// Nothing is written after this: the process ends, whatever a kernel does. Twice the soft
// deadline, and a second for what does not shrink with it: libraries to load, memory to fill.
constexpr double HardDeadlineSeconds(double budget_seconds) { return 2 * budget_seconds + 1; }

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_BUDGET_H_
