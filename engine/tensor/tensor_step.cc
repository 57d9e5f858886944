#include "engine/tensor/tensor_step.h"

#include "engine/tensor/step_kinds.h"

namespace sextant {

absl::string_view StepName(const TensorStep& step) {
  return std::visit([](const auto& one) { return one.kName; }, step);
}

absl::StatusOr<StepResult> ApplyStep(const StridedTensor& tensor, const TensorStep& step) {
  return std::visit([&](const auto& one) { return Apply(tensor, one); }, step);
}

}  // namespace sextant
