#include "engine/tensor/expression/tensor_analysis.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/storage.h"

namespace sextant {
namespace {

// What a question answers beside: the tensor stays as it is.
StepResult Unchanged(const StridedTensor& tensor, std::string reason) {
  return {.tensor = tensor,
          .is_view = true,
          .is_contiguous = IsContiguous(tensor),
          .reason = std::move(reason)};
}

// One overload an action. Checks before are remembered in `bindings`.
class Applier {
 public:
  Applier(const StridedTensor& before, ShapeBindings& bindings)
      : before_(before), bindings_(bindings) {}

  absl::StatusOr<ActionResult> operator()(const TensorStep& step) const {
    ActionResult out;
    SEXTANT_ASSIGN_OR_RETURN(out.step, ApplyStep(before_, step));
    return out;
  }
  absl::StatusOr<ActionResult> operator()(const RearrangeAction& action) const {
    return Transformed(Rearrange(before_, action.expression, action.sizes));
  }
  absl::StatusOr<ActionResult> operator()(const RepeatAction& action) const {
    return Transformed(Repeat(before_, action.expression, action.sizes));
  }
  absl::StatusOr<ActionResult> operator()(const ReduceAction& action) const {
    return Transformed(Reduce(before_, action.expression, action.sizes, action.kind));
  }
  absl::StatusOr<ActionResult> operator()(const CheckShapeAction& action) const;
  absl::StatusOr<ActionResult> operator()(const FlatIndexAction& action) const;

 private:
  absl::StatusOr<ActionResult> Transformed(absl::StatusOr<AxisTransform> transform) const;

  const StridedTensor& before_;
  ShapeBindings& bindings_;
};

absl::StatusOr<ActionResult> Applier::Transformed(absl::StatusOr<AxisTransform> transform) const {
  if (!transform.ok()) return std::move(transform).status();
  ActionResult out;
  out.transform.emplace(
      TransformDetail{.axes = std::move(transform->axes), .flops = transform->flops});
  if (!transform->is_view) {
    SEXTANT_ASSIGN_OR_RETURN(out.transform->read, TensorBytes(before_.data_type, before_.shape));
    SEXTANT_ASSIGN_OR_RETURN(out.transform->written,
                             TensorBytes(before_.data_type, transform->tensor.shape));
  }
  out.step = {.tensor = std::move(transform->tensor),
              .is_view = transform->is_view,
              .allocated_elements = transform->allocated_elements,
              .reason = std::move(transform->reason)};
  out.step.is_contiguous = IsContiguous(out.step.tensor);
  return out;
}

absl::StatusOr<ActionResult> Applier::operator()(const CheckShapeAction& action) const {
  ActionResult out;
  SEXTANT_ASSIGN_OR_RETURN(out.check,
                           CheckDeclaredShape(action.expression, before_.shape, bindings_));
  if (out.check->bindings.sizes.size() + out.check->bindings.several.size() > kMaxCheckedNames) {
    return InvalidField("expression", absl::StrCat("the checks of a chain have more than ",
                                                   kMaxCheckedNames, " different names"));
  }
  bindings_ = out.check->bindings;
  out.step = Unchanged(before_, out.check->matches ? "the shape is as declared"
                                                   : absl::StrJoin(out.check->mismatches, "; "));
  return out;
}

absl::StatusOr<ActionResult> Applier::operator()(const FlatIndexAction& action) const {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t position, FlatIndex(before_, action.index));
  ActionResult out;
  out.storage_position = position;
  out.step = Unchanged(before_, absl::StrCat("element ", position, " of the storage"));
  return out;
}

// `status` with the place of its action. What is wrong with a tensor is put down to the field
// that asks for it: the expression, or else the action.
absl::Status At(size_t place, const TensorAction& action, const absl::Status& status) {
  const std::string path = absl::StrCat("steps[", place, "].", ActionName(action));
  const bool is_step = std::holds_alternative<TensorStep>(action);
  FieldViolations violations;
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    const bool of_tensor =
        !is_step && (v.field == "tensor" || v.field == "result" || v.field == "shape");
    violations.Add(FieldPath(path, of_tensor ? "expression" : v.field), v.description);
  }
  return violations.ToStatus();
}

// What the storage of a new tensor takes.
absl::StatusOr<Bytes> AllocatedBytes(const StepResult& step) {
  if (step.allocated_elements == 0) return Bytes(0);
  absl::StatusOr<Bytes> bytes = TensorBytes(step.tensor.data_type, step.tensor.shape);
  if (!bytes.ok()) return InvalidField("", "makes a tensor of more than 9.2e18 bytes");
  return bytes;
}

}  // namespace

absl::string_view ActionName(const TensorAction& action) {
  struct Namer {
    absl::string_view operator()(const TensorStep& step) const { return StepName(step); }
    absl::string_view operator()(const RearrangeAction& a) const { return a.kName; }
    absl::string_view operator()(const RepeatAction& a) const { return a.kName; }
    absl::string_view operator()(const ReduceAction& a) const { return a.kName; }
    absl::string_view operator()(const CheckShapeAction& a) const { return a.kName; }
    absl::string_view operator()(const FlatIndexAction& a) const { return a.kName; }
  };
  return std::visit(Namer{}, action);
}

absl::StatusOr<TensorAnalysis> AnalyzeTensor(const StridedTensor& tensor,
                                             absl::Span<const TensorAction> actions) {
  if (actions.size() > kMaxTensorActions) {
    return InvalidField(
        "steps", absl::StrCat("must be at most ", kMaxTensorActions, ", not ", actions.size()));
  }
  TensorAnalysis out;
  out.results.reserve(actions.size());
  ShapeBindings bindings;
  CheckedInt allocated = 0;
  for (size_t i = 0; i < actions.size(); ++i) {
    const StridedTensor& before = out.results.empty() ? tensor : out.results.back().step.tensor;
    absl::StatusOr<ActionResult> result = std::visit(Applier(before, bindings), actions[i]);
    if (!result.ok()) return At(i, actions[i], result.status());
    const absl::StatusOr<Bytes> bytes = AllocatedBytes(result->step);
    if (!bytes.ok()) return At(i, actions[i], bytes.status());
    result->name = ActionName(actions[i]);
    result->allocated = *bytes;
    allocated = allocated + bytes->value();
    out.results.push_back(*std::move(result));
  }
  if (!allocated.ok()) return InvalidField("steps", "allocate more than 9.2e18 bytes in all");
  out.allocated = Bytes(allocated.value());
  return out;
}

}  // namespace sextant
