// What tests of FLOPs share.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_FLOPS_FLOPS_CASES_H_
#define SEXTANT_TESTS_ENGINE_MODEL_FLOPS_FLOPS_CASES_H_

#include <gtest/gtest.h>

#include <vector>

#include "engine/model/architecture/model_weights.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/flops_by_convention.h"

namespace sextant {

// The count by component, which is expected to be one.
inline StepFlops Counted(const ArchitectureSpec& spec, const TrainingStepSpec& step) {
  const auto flops = CheckAndCountFlops(spec, step, {"model", "step"}, FlopsDetail::kComponents);
  EXPECT_TRUE(flops.ok()) << flops.status();
  return flops.value_or(StepFlops());
}

inline std::vector<ConventionFlops> Conventions(const ArchitectureSpec& spec,
                                                const TrainingStepSpec& step) {
  const WeightTensors tensors = WeightsOf(spec);
  const StepFlops flops = Counted(spec, step);
  return FlopsByConvention({spec, tensors, step, flops});
}

inline ConventionFlops Convention(FlopsConvention convention, const ArchitectureSpec& spec,
                                  const TrainingStepSpec& step) {
  return Conventions(spec, step)[static_cast<size_t>(convention)];
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_FLOPS_FLOPS_CASES_H_
