// Steps that reorder axes, or add and take away axes of size 1.
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/step_kinds.h"

namespace sextant {
namespace {

constexpr char kReordered[] = "a view: only shape and strides are reordered";

// The axes of a permutation, none of them twice.
absl::StatusOr<std::vector<size_t>> PermutationOf(absl::Span<const int64_t> axes, size_t count) {
  if (axes.size() != count) {
    return InvalidField(
        "axes", absl::StrCat("must name each of the ", count, " axes once, not ", axes.size()));
  }
  std::vector<size_t> out;
  std::vector<bool> seen(count, false);
  for (size_t i = 0; i < count; ++i) {
    const std::string field = absl::StrCat("axes[", i, "]");
    SEXTANT_ASSIGN_OR_RETURN(const size_t axis, AxisAt(axes[i], count, field));
    if (seen[axis]) {
      return InvalidField(field, absl::StrCat("axis ", axis, " is named before: name each once"));
    }
    seen[axis] = true;
    out.push_back(axis);
  }
  return out;
}

}  // namespace

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const TransposeStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(const size_t a, AxisAt(step.axis_a, tensor.shape.size(), "axis_a"));
  SEXTANT_ASSIGN_OR_RETURN(const size_t b, AxisAt(step.axis_b, tensor.shape.size(), "axis_b"));
  StridedTensor out = tensor;
  std::swap(out.shape[a], out.shape[b]);
  std::swap(out.strides[a], out.strides[b]);
  return ViewResult(std::move(out), kReordered);
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const PermuteStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<size_t> axes,
                           PermutationOf(step.axes, tensor.shape.size()));
  StridedTensor out = tensor;
  for (size_t i = 0; i < axes.size(); ++i) {
    out.shape[i] = tensor.shape[axes[i]];
    out.strides[i] = tensor.strides[axes[i]];
  }
  return ViewResult(std::move(out), kReordered);
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const SqueezeStep& step) {
  absl::optional<size_t> only;
  if (step.axis.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(only, AxisAt(*step.axis, tensor.shape.size(), "axis"));
  }
  StridedTensor out = tensor;
  out.shape.clear();
  out.strides.clear();
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 1 && (!only.has_value() || i == *only)) continue;
    out.shape.push_back(tensor.shape[i]);
    out.strides.push_back(tensor.strides[i]);
  }
  return ViewResult(std::move(out), out.shape.size() == tensor.shape.size()
                                        ? "a view: there is no axis of size 1 to take away, so "
                                          "that it is the tensor itself"
                                        : "a view: axes of size 1 hold no elements apart");
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const UnsqueezeStep& step) {
  if (tensor.shape.size() == kMaxAxes) {
    return InvalidField("axis", absl::StrCat("would be one more than ", kMaxAxes, " axes"));
  }
  SEXTANT_ASSIGN_OR_RETURN(const size_t axis, AxisAt(step.axis, tensor.shape.size() + 1, "axis"));
  StridedTensor out = tensor;
  const int64_t stride =
      axis < tensor.shape.size() ? StrideBefore(tensor.shape[axis], tensor.strides[axis]) : 1;
  out.shape.insert(out.shape.begin() + static_cast<int64_t>(axis), 1);
  out.strides.insert(out.strides.begin() + static_cast<int64_t>(axis), stride);
  return ViewResult(std::move(out), "a view: an axis of size 1 adds no element");
}

}  // namespace sextant
