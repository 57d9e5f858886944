// The derivation of what surrounds a run's steps.
#ifndef SEXTANT_ENGINE_RUN_WHOLE_RUN_DERIVATION_H_
#define SEXTANT_ENGINE_RUN_WHOLE_RUN_DERIVATION_H_

#include <vector>

#include "engine/run/derivation.h"
#include "engine/run/plan.h"

namespace sextant {

// Appends the steps of the plan's checkpoint, of what interrupts the run, and of elapsed_per_second
// to `steps`: the estimates use them.
void AppendElapsedSteps(const RunSpec& run, const Plan& plan, std::vector<DerivationStep>& steps);

// Appends the other steps of plan.whole_run, which use the estimates.
void AppendWholeRunSteps(const Plan& plan, std::vector<DerivationStep>& steps);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_WHOLE_RUN_DERIVATION_H_
