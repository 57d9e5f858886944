#include "engine/tensor/tensor_step.h"

#include "absl/strings/str_cat.h"
#include "engine/tensor/step_kinds.h"

namespace sextant {

absl::string_view StepName(const TensorStep& step) {
  return std::visit([](const auto& one) { return one.kName; }, step);
}

absl::StatusOr<StepResult> ApplyStep(const StridedTensor& tensor, const TensorStep& step) {
  return std::visit([&](const auto& one) { return Apply(tensor, one); }, step);
}

absl::StatusOr<std::vector<StepResult>> ApplySteps(const StridedTensor& tensor,
                                                   absl::Span<const TensorStep> steps) {
  if (steps.size() > kMaxTensorSteps) {
    return InvalidField("steps",
                        absl::StrCat("must be at most ", kMaxTensorSteps, ", not ", steps.size()));
  }
  std::vector<StepResult> results;
  results.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const StridedTensor& before = results.empty() ? tensor : results.back().tensor;
    absl::StatusOr<StepResult> result = ApplyStep(before, steps[i]);
    if (!result.ok()) {
      const std::string path = absl::StrCat("steps[", i, "].", StepName(steps[i]));
      FieldViolations violations;
      for (const FieldViolation& v : FieldViolationsOf(result.status())) {
        violations.Add(FieldPath(path, v.field), v.description);
      }
      return violations.ToStatus();
    }
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace sextant
