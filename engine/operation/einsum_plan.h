// In which order an einsum is contracted, and each of its gradients.
#ifndef SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_
#define SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/operation/operation.h"
#include "engine/tensor/expression/contraction.h"
#include "engine/tensor/shape.h"

namespace sextant {

struct OrderedContraction {
  Contraction contraction = {};
  ContractionOrder order = {};
};

struct EinsumPlan {
  Shape shape = {};  // of the result
  OrderedContraction forward = {};
  // Of each operand: that of the result's gradient, which is tensor 0, with the other operands
  // in their order. Its output lacks axes that the operand alone has: along those, which were
  // summed, the gradient is the same everywhere.
  std::vector<OrderedContraction> gradients = {};
};

// Derivation: the result is linear in each operand, so that the gradient at an operand's index
// is the sum, over all indices of the axes that it lacks, of the result's gradient times the
// other operands: an einsum whose output is that operand.
//
// Errors: kInvalidArgument as EinsumAxesOf(); "operands" where an intermediate, of a gradient
// too, would exceed 9.2e18 elements.
absl::StatusOr<EinsumPlan> PlanEinsum(const Einsum& op);

// The sizes of `axes`: at most kMaxAxes, the first ones merged where there are more.
Shape ShapeOf(const Contraction& contraction, const AxisSet& axes);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_EINSUM_PLAN_H_
