// Each figure of a device against its history and its peers.
#ifndef SEXTANT_GPU_PROBE_HEALTH_JUDGE_FIGURES_H_
#define SEXTANT_GPU_PROBE_HEALTH_JUDGE_FIGURES_H_

#include <vector>

#include "gpu_probe/health/verdict.h"

namespace sextant {

struct FigureReferences {
  const std::vector<Figure>& judged;
  const std::vector<const MeasuredDevice*>& history;  // oldest first
  const std::vector<const MeasuredDevice*>& peers;
  HealthLimits limits;
};

// Fills the verdict's figures and overall, and adds what is found to its findings. Slower than
// its history is CRITICAL, but WARNING where its peers are as slow: then it is not this device.
// Slower than its peers is CRITICAL. UNKNOWN where no figure could be judged at all.
void JudgeFigures(const FigureReferences& references, DeviceVerdict* verdict);

// Values alone, where there is no use in comparing them.
std::vector<FigureVerdict> FiguresWithoutReferences(const std::vector<Figure>& figures);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_JUDGE_FIGURES_H_
