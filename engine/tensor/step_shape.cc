// Steps that show the elements in another shape.
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/step_kinds.h"
#include "engine/tensor/view_strides.h"

namespace sextant {
namespace {

constexpr char kSpans[] =
    "an axis of the new shape would have to step across axes that do not follow one another "
    "evenly in memory, and an axis has only one stride";

// `requested` with its -1, if there is one, replaced by what remains of `elements`.
absl::StatusOr<Shape> ShapeOf(const Shape& requested, int64_t elements) {
  Shape shape = requested;
  absl::optional<size_t> open;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != -1) continue;
    if (open.has_value()) {
      return InvalidField("shape", absl::StrCat(ShapeText(requested), " leaves more than one size ",
                                                "open: write -1 only once"));
    }
    open = i;
    shape[i] = 1;
  }
  FieldViolations violations;
  CheckShape(shape, "shape", violations);
  if (!violations.empty()) return violations.ToStatus();
  const int64_t known = ElementCount(shape).value_or(0);
  if (open.has_value() ? elements % known != 0 : elements != known) {
    return InvalidField("shape", absl::StrCat(ShapeText(requested), " has ",
                                              open.has_value() ? "a multiple of " : "", known,
                                              " elements, and the tensor ", elements));
  }
  if (open.has_value()) shape[*open] = elements / known;
  CheckShape(shape, "shape", violations);
  if (!violations.empty()) return violations.ToStatus();
  return shape;
}

StepResult Reshaped(const StridedTensor& tensor, Shape shape) {
  const absl::optional<Strides> strides = ViewStrides(tensor, shape);
  if (strides.has_value()) {
    StridedTensor out = tensor;
    out.shape = std::move(shape);
    out.strides = *strides;
    return ViewResult(std::move(out),
                      "a view: the elements keep their order, and strides for the new shape exist");
  }
  return CopyResult(ContiguousTensor(std::move(shape), tensor.data_type),
                    absl::StrCat("a copy: ", kSpans));
}

}  // namespace

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ReshapeStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(Shape shape, ShapeOf(step.shape, tensor.element_count()));
  return Reshaped(tensor, std::move(shape));
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ViewStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(Shape shape, ShapeOf(step.shape, tensor.element_count()));
  StepResult result = Reshaped(tensor, std::move(shape));
  if (!result.is_view) {
    return InvalidField(
        "shape", absl::StrCat(ShapeText(step.shape), " is no view of shape ",
                              ShapeText(tensor.shape), " with strides ", ShapeText(tensor.strides),
                              ": ", kSpans, "; use reshape, which copies"));
  }
  return result;
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ExpandStep& step) {
  const size_t count = step.shape.size();
  if (count < tensor.shape.size()) {
    return InvalidField("shape", absl::StrCat("has ", count, " axes, and the tensor ",
                                              tensor.shape.size(), ": expand only adds axes"));
  }
  const size_t added = count - tensor.shape.size();
  StridedTensor out = tensor;
  out.shape = step.shape;
  out.strides.assign(count, 1);
  for (size_t i = count; i-- > 0;) {
    const bool is_new = i < added;
    const int64_t size = is_new ? 1 : tensor.shape[i - added];
    const int64_t next = i + 1 < count ? StrideBefore(out.shape[i + 1], out.strides[i + 1]) : 1;
    out.strides[i] = is_new ? next : tensor.strides[i - added];
    if (out.shape[i] == -1 && !is_new) out.shape[i] = size;
    if (out.shape[i] == size) continue;
    out.strides[i] = 0;
    if (size != 1) {
      return InvalidField(absl::StrCat("shape[", i, "]"),
                          absl::StrCat("must be ", size, " or -1, not ", step.shape[i],
                                       ": only axes of size 1 expand"));
    }
  }
  FieldViolations violations;
  CheckShape(out.shape, "shape", violations);
  if (!violations.empty()) return violations.ToStatus();
  return ViewResult(std::move(out),
                    "a view: an expanded axis has stride 0, so that all its indices show the same "
                    "elements");
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const FlattenStep& step) {
  if (tensor.shape.empty()) return Reshaped(tensor, {1});
  SEXTANT_ASSIGN_OR_RETURN(const size_t first, AxisAt(step.first, tensor.shape.size(), "first"));
  SEXTANT_ASSIGN_OR_RETURN(const size_t last, AxisAt(step.last, tensor.shape.size(), "last"));
  if (last < first) {
    return InvalidField("last", absl::StrCat("is axis ", last, ", before the first, ", first));
  }
  Shape shape(tensor.shape.begin(), tensor.shape.begin() + static_cast<int64_t>(first) + 1);
  for (size_t i = first + 1; i < tensor.shape.size(); ++i) {
    if (i <= last) {
      shape.back() *= tensor.shape[i];
    } else {
      shape.push_back(tensor.shape[i]);
    }
  }
  if (shape[first] > kMaxDimension) {
    return InvalidField("last", absl::StrCat("merges axes of ", shape[first], " elements into ",
                                             "one: at most ", kMaxDimension, " (2^40)"));
  }
  return Reshaped(tensor, std::move(shape));
}

}  // namespace sextant
