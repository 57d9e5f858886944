// Cases that tests of FLOPs share.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_FLOPS_FLOPS_CASES_H_
#define SEXTANT_TESTS_ENGINE_MODEL_FLOPS_FLOPS_CASES_H_

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/count_model.h"
#include "engine/model/flops/flops_by_convention.h"

namespace sextant {

// Checks and counts `step` of `spec`, as a call of CountModel does.
inline absl::StatusOr<StepFlops> CountStepOf(const ArchitectureSpec& spec,
                                             const TrainingStepSpec& step, FlopsDetail detail) {
  CountSpec asked;
  asked.model.architecture = spec;
  asked.step = step;
  asked.detail = detail;
  absl::StatusOr<CountedModel> counted = CountModel(asked);
  if (!counted.ok()) return counted.status();
  return *std::move(counted->flops);
}

// The count by component, which is expected to be one.
inline StepFlops Counted(const ArchitectureSpec& spec, const TrainingStepSpec& step) {
  const auto flops = CountStepOf(spec, step, FlopsDetail::kComponents);
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
