#include "engine/tensor/tensor_step.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/near_names.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {
namespace {

// The result of a step that allocates nothing.
StepResult ViewResult(StridedTensor tensor, std::string reason) {
  const bool contiguous = IsContiguous(tensor);
  return {.tensor = std::move(tensor),
          .is_view = true,
          .is_contiguous = contiguous,
          .reason = std::move(reason)};
}

// The result of a step that makes `tensor`, which fills its own storage.
StepResult CopyResult(StridedTensor tensor, std::string reason) {
  const int64_t elements = tensor.storage_elements;
  const bool contiguous = IsContiguous(tensor);
  return {.tensor = std::move(tensor),
          .allocated_elements = elements,
          .is_contiguous = contiguous,
          .reason = std::move(reason)};
}

// `axis` of `axis_count`, counted from the end if negative.
//
// Errors: kInvalidArgument `field`.
absl::StatusOr<size_t> AxisAt(int64_t axis, size_t axis_count, absl::string_view field) {
  const auto count = static_cast<int64_t>(axis_count);
  if (count == 0) return InvalidField(field, "names an axis, and a scalar has none");
  if (axis < -count || axis >= count) {
    return InvalidField(field, absl::StrCat("must be ", -count, " to ", count - 1, ", not ", axis,
                                            ": the axes are ", count));
  }
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

// Steps that drop elements.

// A slice's bound as in Python: from the end if negative, then clamped to the axis.
int64_t BoundOf(int64_t bound, int64_t size) {
  return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

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

// Steps that reorder axes, or insert and remove axes of size 1.

constexpr char kReordered[] = "a view: only shape and strides are reordered";

// The axes of a permutation, each once.
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

// Steps that change the shape and keep the elements.

constexpr char kSpans[] =
    "an axis of the new shape would have to step across axes that do not follow one another "
    "evenly in memory, and an axis has only one stride";

// `requested` with its -1, if any, replaced by the remaining factor of `elements`.
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

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ReshapeStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(Shape shape, ShapeOf(step.shape, tensor.element_count()));
  return Reshaped(tensor, std::move(shape));
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ViewStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(Shape shape, ShapeOf(step.shape, tensor.element_count()));
  StepResult result = Reshaped(tensor, std::move(shape));
  if (!result.is_view) {
    return InvalidField(
        "shape", absl::StrCat(ShapeText(step.shape), " is not a view of shape ",
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

// Steps that make a new tensor.

struct ElementwiseKind {
  absl::string_view name;
  int operand_count;
  // Functions that read an element's row or position write row-major.
  bool keeps_layout;
};

constexpr std::array<ElementwiseKind, 32> kElementwise = {{
    {"abs", 1, true},   {"add", 2, true},          {"ceil", 1, true},     {"clamp", 1, true},
    {"cos", 1, true},   {"cumsum", 1, false},      {"div", 2, true},      {"dropout", 1, true},
    {"exp", 1, true},   {"floor", 1, true},        {"gelu", 1, true},     {"log", 1, true},
    {"log1p", 1, true}, {"log_softmax", 1, false}, {"maximum", 2, true},  {"minimum", 2, true},
    {"mul", 2, true},   {"neg", 1, true},          {"pow", 2, true},      {"reciprocal", 1, true},
    {"relu", 1, true},  {"round", 1, true},        {"rsqrt", 1, true},    {"sigmoid", 1, true},
    {"silu", 1, true},  {"sin", 1, true},          {"softmax", 1, false}, {"sqrt", 1, true},
    {"sub", 2, true},   {"tanh", 1, true},         {"tril", 1, false},    {"triu", 1, false},
}};

absl::StatusOr<ElementwiseKind> KindNamed(absl::string_view name) {
  const auto* found = std::find_if(kElementwise.begin(), kElementwise.end(),
                                   [&](const ElementwiseKind& k) { return k.name == name; });
  if (found != kElementwise.end()) return *found;
  std::vector<KnownName> known;
  for (const ElementwiseKind& k : kElementwise) known.push_back({k.name});
  return InvalidField("name", UnknownNameMessage("elementwise operation", name, known,
                                                 "add, mul, exp, relu, softmax, triu, ..."));
}

// A new tensor of `shape` with a storage of exactly its size.
StridedTensor DenseTensor(Shape shape, Strides strides, DataType data_type) {
  StridedTensor out = ContiguousTensor(std::move(shape), data_type);
  out.strides = std::move(strides);
  return out;
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ContiguousStep&) {
  if (IsContiguous(tensor)) {
    return ViewResult(tensor, "a view: it is contiguous already, so that it is the tensor itself");
  }
  return CopyResult(ContiguousTensor(tensor.shape, tensor.data_type),
                    "a copy: the elements are not in row-major order without gaps");
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const CastStep& step) {
  if (step.data_type == DataType::kUnspecified) {
    return InvalidField("data_type", "is required: write one, such as bf16");
  }
  if (step.data_type == tensor.data_type) {
    return ViewResult(tensor,
                      "a view: it has that data type already, so that it is the tensor "
                      "itself");
  }
  return CopyResult(
      DenseTensor(tensor.shape, ElementwiseStrides(tensor.shape, {&tensor, 1}), step.data_type),
      absl::StrCat("a copy: every element is converted to ", DataTypeName(step.data_type)));
}

absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ElementwiseStep& step) {
  SEXTANT_ASSIGN_OR_RETURN(const ElementwiseKind kind, KindNamed(step.name));
  std::vector<StridedTensor> operands = {tensor};
  Shape shape = tensor.shape;
  if (step.other_shape.has_value()) {
    FieldViolations violations;
    CheckShape(*step.other_shape, "other.shape", violations);
    if (kind.operand_count == 1) {
      violations.Add("other.shape",
                     absl::StrCat("must not be given: ", kind.name, " has one operand"));
    }
    if (!violations.empty()) return violations.ToStatus();
    SEXTANT_ASSIGN_OR_RETURN(shape,
                             BroadcastShapes(tensor.shape, *step.other_shape, "other.shape"));
    CheckShape(shape, "other.shape", violations);
    if (!violations.empty()) return violations.ToStatus();
    operands.push_back(ContiguousTensor(*step.other_shape, tensor.data_type));
  }
  Strides strides =
      kind.keeps_layout ? ElementwiseStrides(shape, operands) : ContiguousStrides(shape);
  return CopyResult(DenseTensor(std::move(shape), std::move(strides), tensor.data_type),
                    absl::StrCat("a new tensor: ", kind.name, " makes every element anew"));
}

}  // namespace

absl::string_view StepName(const TensorStep& step) {
  return std::visit([](const auto& one) { return one.kName; }, step);
}

absl::StatusOr<StepResult> ApplyStep(const StridedTensor& tensor, const TensorStep& step) {
  return std::visit([&](const auto& one) { return Apply(tensor, one); }, step);
}

}  // namespace sextant
