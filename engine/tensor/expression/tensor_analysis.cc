#include "engine/tensor/expression/tensor_analysis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/storage.h"

namespace sextant {
namespace {

using Kind = DeclaredAxis::Kind;

bool IsVariable(const DeclaredAxis& axis) {
  return axis.kind == Kind::kSeveral || axis.kind == Kind::kEllipsis;
}

// Reads the name after "*" or "#".
absl::StatusOr<DeclaredAxis> PrefixedAxis(TokenReader& reader, const Token& prefix, Kind kind) {
  const Token name = reader.Take();
  if (name.kind != TokenKind::kName) {
    return ExpressionError(prefix.column, absl::StrCat("'", prefix.text, "' stands before a name"));
  }
  return DeclaredAxis{.kind = kind, .name = name.text, .column = prefix.column};
}

absl::StatusOr<DeclaredAxis> NextAxis(TokenReader& reader) {
  const Token token = reader.Take();
  switch (token.kind) {
    case TokenKind::kName:
      if (token.text == "_") return DeclaredAxis{.kind = Kind::kAny, .column = token.column};
      return DeclaredAxis{.kind = Kind::kName, .name = token.text, .column = token.column};
    case TokenKind::kNumber:
      return DeclaredAxis{.kind = Kind::kNumber, .number = token.number, .column = token.column};
    case TokenKind::kEllipsis:
      return DeclaredAxis{.kind = Kind::kEllipsis, .column = token.column};
    case TokenKind::kStar:
      return PrefixedAxis(reader, token, Kind::kSeveral);
    case TokenKind::kHash:
      return PrefixedAxis(reader, token, Kind::kStretch);
    default:
      return ExpressionError(token.column, absl::StrCat("'", token.text,
                                                        "' names no axis: write "
                                                        "a name, a size, _, ..., *name or #name"));
  }
}

class Matcher {
 public:
  explicit Matcher(ShapeBindings bindings) { check_.bindings = std::move(bindings); }

  ShapeCheck Match(absl::Span<const DeclaredAxis> axes, absl::Span<const int64_t> shape) && {
    const bool is_open = std::any_of(axes.begin(), axes.end(), IsVariable);
    const size_t declared = axes.size() - (is_open ? 1 : 0);
    if (is_open ? shape.size() < declared : shape.size() != declared) {
      Mismatch(absl::StrCat(is_open ? "at least " : "", declared, " axes declared, the tensor has ",
                            shape.size()));
      return std::move(check_);
    }
    size_t at = 0;
    for (const DeclaredAxis& axis : axes) {
      if (IsVariable(axis)) {
        const size_t count = shape.size() - declared;
        if (axis.kind == Kind::kSeveral) BindSeveral(axis.name, shape.subspan(at, count));
        at += count;
      } else {
        MatchOne(axis, shape[at], at);
        ++at;
      }
    }
    check_.matches = check_.mismatches.empty();
    return std::move(check_);
  }

 private:
  void Mismatch(std::string what) { check_.mismatches.push_back(std::move(what)); }

  void MatchOne(const DeclaredAxis& axis, int64_t size, size_t at) {
    if (axis.kind == Kind::kNumber && axis.number != size) {
      Mismatch(absl::StrCat("axis ", at, " has to be ", axis.number, ", and is ", size));
    }
    // A stretched axis of size 1 does not determine the name's size.
    if (axis.kind == Kind::kName || (axis.kind == Kind::kStretch && size != 1)) {
      Bind(axis.name, size);
    }
  }

  void Bind(absl::string_view name, int64_t size) {
    for (const AxisSize& bound : check_.bindings.sizes) {
      if (bound.name != name) continue;
      if (bound.size != size) {
        Mismatch(absl::StrCat("'", name, "' is bound to ", bound.size, " and to ", size));
      }
      return;
    }
    check_.bindings.sizes.push_back({std::string(name), size});
  }

  void BindSeveral(absl::string_view name, absl::Span<const int64_t> sizes) {
    for (const ShapeBindings::Several& bound : check_.bindings.several) {
      if (bound.name != name) continue;
      if (absl::MakeConstSpan(bound.sizes) != sizes) {
        Mismatch(absl::StrCat("'*", name, "' is bound to ", ShapeText(bound.sizes), " and to ",
                              ShapeText(sizes)));
      }
      return;
    }
    check_.bindings.several.push_back({std::string(name), Shape(sizes.begin(), sizes.end())});
  }

  ShapeCheck check_;
};

// The step of a question: the tensor is unchanged.
StepResult Unchanged(const StridedTensor& tensor, std::string reason) {
  return {.tensor = tensor,
          .is_view = true,
          .is_contiguous = IsContiguous(tensor),
          .reason = std::move(reason)};
}

// One overload per action. `bindings` holds the results of earlier checks.
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

// `status` with the path of its action. An invalid tensor is reported against the field that
// causes it: the expression, or else the action.
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

// The size of a new tensor's storage.
absl::StatusOr<Bytes> AllocatedBytes(const StepResult& step) {
  if (step.allocated_elements == 0) return Bytes(0);
  absl::StatusOr<Bytes> bytes = TensorBytes(step.tensor.data_type, step.tensor.shape);
  if (!bytes.ok()) return InvalidField("", "makes a tensor of more than 9.2e18 bytes");
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<DeclaredAxis>> ParseDeclaredAxes(TokenReader& reader) {
  std::vector<DeclaredAxis> axes;
  bool is_open = false;
  while (reader.Peek().kind != TokenKind::kEnd) {
    SEXTANT_ASSIGN_OR_RETURN(const DeclaredAxis axis, NextAxis(reader));
    if (IsVariable(axis) && is_open) {
      return ExpressionError(axis.column,
                             "a second '...' or '*name': which axes it stands for "
                             "can't be known");
    }
    is_open = is_open || IsVariable(axis);
    if (axes.size() == kMaxAxes) {
      return ExpressionError(axis.column, absl::StrCat("more than ", kMaxAxes, " axes"));
    }
    axes.push_back(axis);
  }
  return axes;
}

absl::StatusOr<ShapeCheck> CheckDeclaredShape(absl::string_view expression,
                                              absl::Span<const int64_t> shape,
                                              ShapeBindings bindings) {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenise(expression));
  TokenReader reader(std::move(tokens));
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<DeclaredAxis> axes, ParseDeclaredAxes(reader));
  FieldViolations violations;
  CheckShape(shape, "shape", violations);
  if (!violations.empty()) return violations.ToStatus();
  return Matcher(std::move(bindings)).Match(axes, shape);
}

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
