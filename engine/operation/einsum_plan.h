// In which order an einsum is contracted, and how its gradients go back through that.
#ifndef SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_
#define SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/operation/operation.h"
#include "engine/operation/step.h"
#include "engine/tensor/expression/contraction.h"
#include "engine/tensor/shape.h"

namespace sextant {

// The gradient of one of the tensors that a forward step contracts: the gradient of the step's
// result, multiplied by the other tensor and summed over the axes that the tensor lacks.
// Tensors are numbered as in ContractionStep.
struct PairGradient {
  size_t result = 0;  // of the forward step, whose gradient is there
  size_t of = 0;      // the tensor whose gradient this makes
  int other = -1;     // -1: the step was a sum of one tensor
  bool sums = false;
  Flops flops = Flops(0);   // by the convention of ContractionStep
  OperandSet operands = 0;  // whose gradients take this one: those that `of` is made of
};

struct EinsumPlan {
  Shape shape = {};  // of the result
  Contraction contraction = {};
  ContractionOrder order = {};
  std::vector<AxisSet> tensors = {};  // axes of the operands, then of the results
  // In the order of the backward pass: the last step's first.
  std::vector<PairGradient> gradients = {};
};

// Derivation of the gradients: each step's result is linear in either tensor, so that the
// gradient at an index of one is the sum, over all indices of the axes that it lacks, of the
// result's gradient times the other. Going back through the steps of the forward pass costs
// two products a step, as reverse accumulation does (PyTorch contracts in pairs, and so
// differentiates pairs). Along axes that a tensor alone has, which were summed, its gradient is
// the same everywhere.
//
// Errors: kInvalidArgument as EinsumAxesOf(); "operands" where an intermediate would exceed
// 9.2e18 elements.
absl::StatusOr<EinsumPlan> PlanEinsum(const Einsum& op);

// The sizes of `axes`: at most kMaxAxes, the first ones merged where there are more.
Shape ShapeOf(const Contraction& contraction, const AxisSet& axes);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_
