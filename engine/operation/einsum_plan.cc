#include "engine/operation/einsum_plan.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/tensor/expression/einsum.h"

namespace sextant {
namespace {

double SizeOf(const Contraction& contraction, const AxisSet& axes) {
  double size = 1;
  for (size_t i = 0; i < contraction.axes.size(); ++i) {
    if (axes[i]) size *= static_cast<double>(contraction.axes[i].size);
  }
  return size;
}

// The gradient of tensor `of`, which the step that makes `result` contracts with `other`.
PairGradient GradientOf(const EinsumPlan& plan, PairGradient gradient) {
  AxisSet all = plan.tensors[gradient.result];
  if (gradient.other < 0) return gradient;  // constant: nothing to compute
  all |= plan.tensors[static_cast<size_t>(gradient.other)];
  gradient.sums = (all & ~plan.tensors[gradient.of]).any();
  gradient.flops =
      Flops((gradient.sums ? kFlopsPerMultiplyAdd : 1) * SizeOf(plan.contraction, all));
  return gradient;
}

void AddGradients(EinsumPlan& plan) {
  const size_t operand_count = plan.contraction.operands.size();
  std::vector<OperandSet> made_of(plan.tensors.size());
  for (size_t i = 0; i < operand_count; ++i) made_of[i] = OperandBit(i);
  for (size_t i = 0; i < plan.order.steps.size(); ++i) {
    const ContractionStep& step = plan.order.steps[i];
    OperandSet& all = made_of[operand_count + i];
    all = made_of[static_cast<size_t>(step.left)];
    if (step.right >= 0) all |= made_of[static_cast<size_t>(step.right)];
  }
  for (size_t i = plan.order.steps.size(); i-- > 0;) {
    const ContractionStep& step = plan.order.steps[i];
    const auto left = static_cast<size_t>(step.left);
    plan.gradients.push_back(GradientOf(
        plan,
        {.result = operand_count + i, .of = left, .other = step.right, .operands = made_of[left]}));
    if (step.right < 0) continue;
    const auto right = static_cast<size_t>(step.right);
    plan.gradients.push_back(GradientOf(plan, {.result = operand_count + i,
                                               .of = right,
                                               .other = step.left,
                                               .operands = made_of[right]}));
  }
}

}  // namespace

Shape ShapeOf(const Contraction& contraction, const AxisSet& axes) {
  Shape sizes;
  for (size_t i = 0; i < contraction.axes.size(); ++i) {
    if (axes[i] && contraction.axes[i].size > 1) sizes.push_back(contraction.axes[i].size);
  }
  // A tensor of at most 2^63 elements has at most 63 axes above size 1; merged ones are at most
  // 2^32.
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
  plan.contraction = std::move(bound.contraction);
  SEXTANT_ASSIGN_OR_RETURN(
      plan.order, op.left_to_right ? LeftToRight(plan.contraction) : BestOrder(plan.contraction));
  plan.tensors = plan.contraction.operands;
  for (const ContractionStep& step : plan.order.steps) plan.tensors.push_back(step.axis_set);
  AddGradients(plan);
  return plan;
}

}  // namespace sextant
