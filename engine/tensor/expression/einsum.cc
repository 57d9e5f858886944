#include "engine/tensor/expression/einsum.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

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
