// One model and one step under every named convention at once.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_BY_CONVENTION_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_BY_CONVENTION_H_

#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/step_flops.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

struct TermDifference {
  FlopsTerm term;
  Flops per_token;  // the convention's less the exact ones
};

struct ConventionFlops {
  FlopsConvention convention;
  // Why the convention says nothing about this model: what its source leaves undefined. Empty
  // where it applies; else there is nothing below.
  std::string not_applicable;
  Flops per_token = {};
  Flops per_step = {};
  double ratio_to_exact = 0;                     // to kExactCausal
  std::vector<TermDifference> differences = {};  // largest first; per_token less the exact ones
};

struct ConventionInput {
  const ArchitectureSpec& spec;
  const WeightTensors& tensors;
  const TrainingStepSpec& step;
  const StepFlops& flops;  // CountFlops() of the three, with FlopsDetail::kComponents
};

// In the order of FlopsConvention.
std::vector<ConventionFlops> FlopsByConvention(const ConventionInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_BY_CONVENTION_H_
