// How a plan's parameters and FLOPs came about.
#ifndef SEXTANT_ENGINE_RUN_MODEL_DERIVATION_H_
#define SEXTANT_ENGINE_RUN_MODEL_DERIVATION_H_

#include <vector>

#include "engine/run/derivation.h"

namespace sextant {

// Appends to `steps` those of plan.parameters and plan.flops.
void AppendModelSteps(const RunSpec& run, const Plan& plan, std::vector<DerivationStep>& steps);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MODEL_DERIVATION_H_
