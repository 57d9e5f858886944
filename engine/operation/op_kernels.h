// The steps of each operation, forward and backward.
#ifndef SEXTANT_ENGINE_OPERATION_OP_KERNELS_H_
#define SEXTANT_ENGINE_OPERATION_OP_KERNELS_H_

#include <string>
#include <vector>

#include "engine/operation/cost.h"
#include "engine/operation/operation.h"

namespace sextant {

struct OpKernels {
  std::vector<Array> operands;  // operand i is bit i of an OperandSet
  std::vector<Array> outputs;
  OperandSet differentiable = 0;  // operands that can have a gradient
  std::vector<Step> forward;
  // The same in separate kernels, each with its own round trip; empty where `forward` is that.
  std::vector<Step> unfused;
  // From the output's gradient to those of the operands. A read array of role kGradient is an
  // incoming gradient; every other read array must be saved or held.
  std::vector<Step> backward;
};

struct OpKernelsInput {
  OperationTypes types = {};  // defaults filled in
  FlopConvention convention = {};
};

// Source: docs/operation_costs.md, "Forward and backward".
// `operation` has passed CheckOperation().
OpKernels OpKernelsOf(const Operation& operation, const OpKernelsInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_OP_KERNELS_H_
