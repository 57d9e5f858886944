// The contraction order of an einsum, and its gradients.
#ifndef SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_
#define SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/operation/cost.h"
#include "engine/operation/operation.h"
#include "engine/tensor/expression/contraction.h"
#include "engine/tensor/shape.h"

namespace sextant {

// The gradient of one tensor of a forward step: the gradient of the step's result, multiplied by
// the other tensor and summed over the axes that the tensor lacks. Tensors are numbered as in
// ContractionStep.
struct PairGradient {
  size_t result = 0;  // of the forward step; its gradient is known
  size_t of = 0;      // the tensor that this is the gradient of
  int other = -1;     // -1: the step was a sum of one tensor
  bool sums = false;
  Flops flops = Flops(0);   // by the convention of ContractionStep
  OperandSet operands = 0;  // those that `of` is made from; their gradients need this one
};

struct EinsumPlan {
  Shape shape = {};  // of the result
  Contraction contraction = {};
  ContractionOrder order = {};
  std::vector<AxisSet> tensors = {};  // axes of the operands, then of the results
  // In the order of the backward pass: the last step's first.
  std::vector<PairGradient> gradients = {};
};

// Derivation of the gradients: each step's result is linear in either tensor, so the gradient at
// an index of one is the sum, over all indices of the axes that it lacks, of the result's gradient
// times the other. Going back through the steps of the forward pass costs two products per step,
// as in reverse accumulation (PyTorch contracts in pairs, and so differentiates pairs). Along
// summed axes that only one tensor has, its gradient is constant.
//
// Errors: kInvalidArgument as EinsumAxesOf(); "operands" where an intermediate would exceed
// 9.2e18 elements.
absl::StatusOr<EinsumPlan> PlanEinsum(const Einsum& op);

// The sizes of `axes`: at most kMaxAxes, the first ones merged where there are more.
Shape ShapeOf(const Contraction& contraction, const AxisSet& axes);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_
