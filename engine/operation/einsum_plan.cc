#include "engine/operation/einsum_plan.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/tensor/expression/einsum.h"

namespace sextant {
namespace {

AxisSet ResultOf(const Contraction& contraction) {
  AxisSet result;
  for (const int i : contraction.output) result.set(static_cast<size_t>(i));
  return result;
}

Contraction GradientOf(const Contraction& forward, size_t operand) {
  Contraction out;
  out.axes = forward.axes;
  out.operands = {ResultOf(forward)};
  AxisSet others = out.operands[0];
  for (size_t i = 0; i < forward.operands.size(); ++i) {
    if (i == operand) continue;
    out.operands.push_back(forward.operands[i]);
    others |= forward.operands[i];
  }
  const AxisSet kept = forward.operands[operand] & others;
  for (size_t i = 0; i < forward.axes.size(); ++i) {
    if (kept[i]) out.output.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace

Shape ShapeOf(const Contraction& contraction, const AxisSet& axes) {
  Shape sizes;
  for (size_t i = 0; i < contraction.axes.size(); ++i) {
    if (axes[i] && contraction.axes[i].size > 1) sizes.push_back(contraction.axes[i].size);
  }
  // A tensor of 2^63 elements at most has 63 of them, and those merged are 2^32 at most.
  while (sizes.size() > kMaxAxes) {
    sizes[1] *= sizes[0];
    sizes.erase(sizes.begin());
  }
  return sizes;
}

absl::StatusOr<EinsumPlan> PlanEinsum(const Einsum& op) {
  SEXTANT_ASSIGN_OR_RETURN(BoundEinsum bound, EinsumAxesOf(op.expression, op.operands, op.style));
  EinsumPlan plan;
  plan.shape = std::move(bound.shape);
  plan.forward.contraction = std::move(bound.contraction);
  SEXTANT_ASSIGN_OR_RETURN(plan.forward.order, op.left_to_right
                                                   ? LeftToRight(plan.forward.contraction)
                                                   : BestOrder(plan.forward.contraction));
  for (size_t i = 0; i < op.operands.size(); ++i) {
    OrderedContraction gradient;
    gradient.contraction = GradientOf(plan.forward.contraction, i);
    SEXTANT_ASSIGN_OR_RETURN(gradient.order, BestOrder(gradient.contraction));
    plan.gradients.push_back(std::move(gradient));
  }
  return plan;
}

}  // namespace sextant
