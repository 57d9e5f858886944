// Steps that make a new tensor.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/elementwise_layout.h"
#include "engine/tensor/step_kinds.h"

namespace sextant {
namespace {

struct ElementwiseKind {
  absl::string_view name;
  int operand_count;
  // The others look at an element's row or place, and write row-major.
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

// A new tensor of `shape` over as much storage as it needs.
StridedTensor DenseTensor(Shape shape, Strides strides, DataType data_type) {
  StridedTensor out = ContiguousTensor(std::move(shape), data_type);
  out.strides = std::move(strides);
  return out;
}

}  // namespace

std::vector<absl::string_view> ElementwiseNames() {
  std::vector<absl::string_view> names;
  for (const ElementwiseKind& k : kElementwise) names.push_back(k.name);
  return names;
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

}  // namespace sextant
