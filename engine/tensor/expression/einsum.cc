#include "engine/tensor/expression/einsum.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

std::string OperandPath(size_t operand) { return absl::StrCat("operands[", operand, "]"); }

class Binder {
 public:
  Binder(const EinsumPattern& pattern, absl::Span<const Shape> shapes)
      : pattern_(pattern), shapes_(shapes) {}

  absl::StatusOr<BoundEinsum> Bind() {
    SEXTANT_RETURN_IF_ERROR(BindEllipses());
    for (size_t i = 0; i < shapes_.size(); ++i) SEXTANT_RETURN_IF_ERROR(BindOperand(i));
    BindOutput();
    for (const AxisSet& operand : out_.contraction.operands) {
      int64_t elements = 1;
      for (size_t i = 0; i < axes().size(); ++i) elements *= operand[i] ? axes()[i].size : 1;
      out_.operand_elements.push_back(elements);
    }
    FieldViolations violations;
    CheckShape(out_.shape, "result", violations);
    if (!violations.empty()) return violations.ToStatus();
    return std::move(out_);
  }

 private:
  std::vector<AxisSize>& axes() { return out_.contraction.axes; }

  // The number of axes that "..." covers in `operand`.
  absl::StatusOr<size_t> EllipsisCount(size_t operand) const {
    const AxisTerm& term = pattern_.operands[operand];
    const size_t named = term.groups.size() - (term.has_ellipsis ? 1 : 0);
    const size_t has = shapes_[operand].size();
    if (term.has_ellipsis ? has >= named : has == named) return has - named;
    return InvalidField(
        OperandPath(operand),
        absl::StrCat("the expression has ", term.has_ellipsis ? "at least " : "", named,
                     " axes in column ", term.column, ", the tensor has ", has,
                     pattern_.style == EinsumStyle::kLetters
                         ? " (without blanks between axes, every letter is one)"
                         : ""));
  }

  absl::Status BindEllipses() {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      SEXTANT_ASSIGN_OR_RETURN(const size_t count, EllipsisCount(i));
      counts_.push_back(count);
    }
    const size_t most = *std::max_element(counts_.begin(), counts_.end());
    Shape stretched;
    for (size_t i = 0; i < shapes_.size(); ++i) {
      const absl::Span<const int64_t> covered = CoveredBy(i);
      SEXTANT_ASSIGN_OR_RETURN(stretched, BroadcastShapes(stretched, covered, OperandPath(i)));
    }
    for (size_t i = 0; i < most; ++i) axes().push_back({absl::StrCat("...", i), stretched[i]});
    return absl::OkStatus();
  }

  // The sizes that "..." covers in `operand`.
  absl::Span<const int64_t> CoveredBy(size_t operand) const {
    const AxisTerm& term = pattern_.operands[operand];
    size_t before = 0;
    while (before < term.groups.size() && term.groups[before].axes[0].kind != AxisKind::kEllipsis) {
      ++before;
    }
    if (before == term.groups.size()) return {};
    return absl::MakeConstSpan(shapes_[operand]).subspan(before, counts_[operand]);
  }

  absl::Status BindOperand(size_t operand) {
    AxisSet set;
    size_t at = 0;
    for (const AxisGroup& group : pattern_.operands[operand].groups) {
      const TermAxis& axis = group.axes[0];
      if (axis.kind == AxisKind::kEllipsis) {
        // Aligned at the last axis, as in broadcasting.
        const absl::Span<const int64_t> covered = CoveredBy(operand);
        const size_t all = ellipsis_count();
        for (size_t i = all - covered.size(); i < all; ++i, ++at) {
          set[i] = shapes_[operand][at] == axes()[i].size;
        }
        continue;
      }
      SEXTANT_ASSIGN_OR_RETURN(const absl::optional<size_t> index,
                               IndexOf(axis, shapes_[operand][at], operand));
      if (index.has_value()) set.set(*index);
      ++at;
    }
    out_.contraction.operands.push_back(set);
    return absl::OkStatus();
  }

  size_t ellipsis_count() const { return *std::max_element(counts_.begin(), counts_.end()); }

  // The index of `axis`, which has `size` in `operand`; a new index for a new axis. An unnamed 1
  // has none.
  absl::StatusOr<absl::optional<size_t>> IndexOf(const TermAxis& axis, int64_t size,
                                                 size_t operand) {
    if (axis.kind == AxisKind::kNumber && axis.number != size) {
      return ExpressionError(axis.column, absl::StrCat("the axis has size ", size, " in operand ",
                                                       operand + 1, ", not ", axis.number));
    }
    if (axis.kind == AxisKind::kNumber && size == 1) return absl::optional<size_t>();
    if (axis.kind == AxisKind::kName) {
      const auto [known, is_new] = indices_.try_emplace(axis.text, axes().size());
      if (!is_new) {
        const int64_t before = axes()[known->second].size;
        if (before == size) return absl::make_optional(known->second);
        return ExpressionError(axis.column, absl::StrCat("axis '", axis.text, "' has size ", size,
                                                         " in operand ", operand + 1, ", and ",
                                                         before, " before: one name is one size"));
      }
    }
    if (axes().size() == kMaxEinsumAxes) {
      return ExpressionError(axis.column,
                             absl::StrCat("more than ", kMaxEinsumAxes, " different axes"));
    }
    axes().push_back({std::string(axis.text), size});
    return absl::make_optional(axes().size() - 1);
  }

  void BindOutput() {
    for (const AxisGroup& group : pattern_.output.groups) {
      const TermAxis& axis = group.axes[0];
      if (axis.kind == AxisKind::kNumber) out_.shape.push_back(1);
      if (axis.kind == AxisKind::kName) Output(indices_.at(axis.text));
      if (axis.kind != AxisKind::kEllipsis) continue;
      for (size_t i = 0; i < ellipsis_count(); ++i) Output(i);
    }
  }

  void Output(size_t index) {
    out_.contraction.output.push_back(static_cast<int>(index));
    out_.shape.push_back(axes()[index].size);
  }

  const EinsumPattern& pattern_;
  const absl::Span<const Shape> shapes_;
  std::vector<size_t> counts_;  // axes covered by "...", by operand
  absl::flat_hash_map<absl::string_view, size_t> indices_;
  BoundEinsum out_;
};

// Without "..." in the output, its axes would be summed silently.
absl::Status CheckEllipsisStays(const EinsumPattern& pattern, const BoundEinsum& bound) {
  if (pattern.output.has_ellipsis) return absl::OkStatus();
  const auto& axes = bound.contraction.axes;
  if (axes.empty() || axes[0].name != "...0") return absl::OkStatus();
  return ExpressionError(pattern.output.column,
                         "the output lacks '...', which stands for axes here: write it, or name "
                         "the axes that are to be summed");
}

// Axes of one name have one size; only axes covered by "..." broadcast. `shapes` have passed
// CheckShape().
//
// Errors: kInvalidArgument "operands" where their number differs from the expression's,
// "operands[1]" where one has another number of axes or its "..." does not broadcast, "expression"
// with the column of an axis whose size differs.
absl::StatusOr<BoundEinsum> BindEinsum(const EinsumPattern& pattern,
                                       absl::Span<const Shape> shapes) {
  if (pattern.operands.size() != shapes.size()) {
    return InvalidField("operands", absl::StrCat("the expression has ", pattern.operands.size(),
                                                 ", and ", shapes.size(), " are given"));
  }
  SEXTANT_ASSIGN_OR_RETURN(BoundEinsum bound, Binder(pattern, shapes).Bind());
  SEXTANT_RETURN_IF_ERROR(CheckEllipsisStays(pattern, bound));
  bound.style = pattern.style;
  return bound;
}

absl::Status CheckOperands(absl::Span<const Shape> operands) {
  if (operands.size() > kMaxOperands) {
    return InvalidField("operands",
                        absl::StrCat("must be at most ", kMaxOperands, ", not ", operands.size()));
  }
  FieldViolations violations;
  for (size_t i = 0; i < operands.size(); ++i) {
    CheckShape(operands[i], absl::StrCat("operands[", i, "].shape"), violations);
  }
  return violations.ToStatus();
}

std::vector<std::string> SummedAxes(const Contraction& contraction) {
  AxisSet output;
  for (const int i : contraction.output) output.set(static_cast<size_t>(i));
  std::vector<std::string> names;
  for (size_t i = 0; i < contraction.axes.size(); ++i) {
    if (!output[i]) names.push_back(contraction.axes[i].name);
  }
  return names;
}

}  // namespace

absl::StatusOr<BoundEinsum> EinsumAxesOf(absl::string_view expression,
                                         absl::Span<const Shape> operands, EinsumStyle style) {
  SEXTANT_RETURN_IF_ERROR(CheckOperands(operands));
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenise(expression));
  if (style == EinsumStyle::kDetect) style = DetectEinsumStyle(tokens);
  TokenReader reader(std::move(tokens));
  SEXTANT_ASSIGN_OR_RETURN(const EinsumPattern pattern, ParseEinsum(reader, style));
  return BindEinsum(pattern, operands);
}

absl::StatusOr<EinsumCost> EinsumCostOf(absl::string_view expression,
                                        absl::Span<const Shape> operands, EinsumStyle style) {
  SEXTANT_ASSIGN_OR_RETURN(BoundEinsum bound, EinsumAxesOf(expression, operands, style));
  EinsumCost cost = {.style = bound.style, .summed_axes = SummedAxes(bound.contraction)};
  absl::StatusOr<ContractionOrder> left_to_right = LeftToRight(bound.contraction);
  if (left_to_right.ok()) {
    cost.best = BestOrder(bound.contraction, *left_to_right);
    cost.left_to_right = *std::move(left_to_right);
  } else {
    SEXTANT_ASSIGN_OR_RETURN(cost.best, BestOrder(bound.contraction));
  }
  cost.result_elements = ElementCount(bound.shape).value_or(0);
  cost.shape = std::move(bound.shape);
  cost.axes = std::move(bound.contraction.axes);
  cost.operand_elements = std::move(bound.operand_elements);
  return cost;
}

}  // namespace sextant
