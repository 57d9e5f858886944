// Which figures of one measurement are slower than its references, and how sure that is.
#ifndef SEXTANT_GPU_PROBE_HEALTH_SLOW_FIGURES_H_
#define SEXTANT_GPU_PROBE_HEALTH_SLOW_FIGURES_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/health/figures.h"
#include "gpu_probe/health/findings.h"
#include "gpu_probe/health/references.h"

namespace sextant::probe {

// One figure and its references.
struct FigureVerdict {
  std::string name;
  std::string unit;
  double value = 0;
  bool stable = true;
  absl::optional<HistoryReference> history = {};
  absl::optional<PeerReference> peers = {};
  double warning_below = 0;   // a lower rate is slow; 0 where nothing was compared
  double critical_below = 0;  // a lower rate is CRITICAL if it was so before; 0: none is
};

// A measurement and what it is compared with.
struct Comparison {
  const MeasuredDevice& judged;
  std::vector<const MeasuredDevice*> history;  // of the same device, oldest first
  std::vector<const MeasuredDevice*> peers;
  HealthLimits limits;
};

struct FigureVerdicts {
  std::vector<FigureVerdict> figures;
  absl::optional<PeerReference> overall;
  std::vector<Finding> findings;
};

// Figures with values alone, where comparing them is useless.
std::vector<FigureVerdict> FiguresWithoutReferences(const std::vector<HealthMetric>& figures);

// Judges one measurement by itself, whatever those before it were found to be.
//
// Slower than the history or the peers is CRITICAL. It is a WARNING where chance may be the cause,
// for a figure that is not stable, or a history of fewer than kHistoryLength measurements; and
// where its peers are as much below its history, since then the cause is not this device. UNKNOWN
// where no figure could be judged.
FigureVerdicts JudgeFigures(const Comparison& comparison);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_SLOW_FIGURES_H_
