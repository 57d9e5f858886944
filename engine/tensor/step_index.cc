// Steps that leave elements out.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/step_kinds.h"

namespace sextant {
namespace {

// A slice's bound as Python reads it: from the end if negative, then cut off at the axis's ends.
int64_t BoundOf(int64_t bound, int64_t size) {
  return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

}  // namespace

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const SelectStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(const size_t axis, AxisAt(step.axis, tensor.shape.size(), "axis"));
  const int64_t size = tensor.shape[axis];
  if (step.index < -size || step.index >= size) {
    return InvalidField("index", absl::StrCat("must be ", -size, " to ", size - 1,
                                              " on an axis of size ", size, ", not ", step.index));
  }
  StridedTensor out = tensor;
  out.offset += (step.index < 0 ? step.index + size : step.index) * tensor.strides[axis];
  out.shape.erase(out.shape.begin() + static_cast<int64_t>(axis));
  out.strides.erase(out.strides.begin() + static_cast<int64_t>(axis));
  return ViewResult(std::move(out), "a view: one index of an axis only moves the offset");
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const SliceStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(const size_t axis, AxisAt(step.axis, tensor.shape.size(), "axis"));
  const int64_t size = tensor.shape[axis];
  FieldViolations violations;
  violations.RequireRange("", "step", step.step, 1, kMaxDimension);
  if (!violations.empty()) return violations.ToStatus();
  const int64_t start = BoundOf(step.start.value_or(0), size);
  const int64_t stop = BoundOf(step.stop.value_or(size), size);
  if (start >= stop) {
    return InvalidField(
        "stop", absl::StrCat("leaves nothing of an axis of size ", size, ": from ", start, " to ",
                             stop, "; an empty tensor is not accounted for"));
  }
  StridedTensor out = tensor;
  out.offset += start * tensor.strides[axis];
  out.shape[axis] = CeilDivide(stop - start, step.step);
  out.strides[axis] = StrideBefore(step.step, tensor.strides[axis]);
  return ViewResult(std::move(out),
                    "a view: a slice only changes the offset, the size and the stride of its axis");
}

}  // namespace sextant
