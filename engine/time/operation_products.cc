#include "engine/time/operation_products.h"

#include <utility>

#include "engine/operation/einsum_plan.h"

namespace sextant {
namespace {

OperationProducts ProductWithGradients(const BatchedGemm& product) {
  return {.forward = {product},
          .backward = {{product.batch, InputGradientOf(product.each)},
                       {product.batch, WeightGradientOf(product.each)}}};
}

int64_t SizeOfAxes(const Contraction& contraction, const AxisSet& axes) {
  int64_t size = 1;  // of a part of one tensor, which has 9.2e18 elements at most
  for (size_t i = 0; i < contraction.axes.size(); ++i) {
    if (axes[i]) size *= contraction.axes[i].size;
  }
  return size;
}

// What contracts `left` and `right` to `result`. Absent where an axis is summed that one of both
// has alone.
absl::optional<BatchedGemm> ContractionAsProduct(const Contraction& contraction,
                                                 const AxisSet& left, const AxisSet& right,
                                                 const AxisSet& result) {
  if (((left ^ right) & ~result).any()) return absl::nullopt;
  const auto size = [&contraction](const AxisSet& axes) { return SizeOfAxes(contraction, axes); };
  return BatchedGemm{
      .batch = size(left & right & result),
      .each = {
          .m = size(left & ~right), .n = size(right & ~left), .k = size(left & right & ~result)}};
}

// Whether every operand is read whole.
bool ReadsNoDiagonal(const Einsum& op, const Contraction& contraction) {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (ElementCount(op.operands[i]) != SizeOfAxes(contraction, contraction.operands[i])) {
      return false;
    }
  }
  return true;
}

absl::optional<OperationProducts> ProductsOfEinsum(const Einsum& op) {
  const absl::StatusOr<EinsumPlan> plan = PlanEinsum(op);
  if (!plan.ok() || !ReadsNoDiagonal(op, plan->contraction)) return absl::nullopt;
  const std::vector<AxisSet>& tensors = plan->tensors;
  OperationProducts out;
  for (const ContractionStep& step : plan->order.steps) {
    if (step.right < 0 || !step.sums) return absl::nullopt;
    const auto product =
        ContractionAsProduct(plan->contraction, tensors[static_cast<size_t>(step.left)],
                             tensors[static_cast<size_t>(step.right)], step.axis_set);
    if (!product.has_value()) return absl::nullopt;
    out.forward.push_back(*product);
  }
  for (const PairGradient& gradient : plan->gradients) {
    auto product =
        ContractionAsProduct(plan->contraction, tensors[gradient.result],
                             tensors[static_cast<size_t>(gradient.other)], tensors[gradient.of]);
    if (!product.has_value()) return absl::nullopt;
    product->each.pass = GemmPass::kOtherLayout;
    out.backward.push_back(*product);
  }
  return out;
}

}  // namespace

absl::optional<OperationProducts> ProductsOf(const Operation& operation) {
  if (const auto* op = std::get_if<Matmul>(&operation)) {
    return ProductWithGradients({.each = {op->m, op->n, op->k}});
  }
  if (const auto* op = std::get_if<Linear>(&operation)) {
    return ProductWithGradients({.each = {op->rows, op->output_size, op->input_size}});
  }
  if (const auto* op = std::get_if<BatchedMatmul>(&operation)) {
    return ProductWithGradients({.batch = op->batch, .each = {op->m, op->n, op->k}});
  }
  if (const auto* op = std::get_if<Einsum>(&operation)) return ProductsOfEinsum(*op);
  return absl::nullopt;
}

}  // namespace sextant
