#include "engine/tensor/step_kinds.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sextant {

StepResult ViewResult(StridedTensor tensor, std::string reason) {
  const bool contiguous = IsContiguous(tensor);
  return {.tensor = std::move(tensor),
          .is_view = true,
          .is_contiguous = contiguous,
          .reason = std::move(reason)};
}

StepResult CopyResult(StridedTensor tensor, std::string reason) {
  const int64_t elements = tensor.storage_elements;
  const bool contiguous = IsContiguous(tensor);
  return {.tensor = std::move(tensor),
          .allocated_elements = elements,
          .is_contiguous = contiguous,
          .reason = std::move(reason)};
}

absl::StatusOr<size_t> AxisAt(int64_t axis, size_t axis_count, absl::string_view field) {
  const auto count = static_cast<int64_t>(axis_count);
  if (count == 0) return InvalidField(field, "names an axis, and a scalar has none");
  if (axis < -count || axis >= count) {
    return InvalidField(field, absl::StrCat("must be ", -count, " to ", count - 1, ", not ", axis,
                                            ": the axes are ", count));
  }
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

}  // namespace sextant
