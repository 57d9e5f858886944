// How each operation is done, forward and backward, in steps.
#ifndef SEXTANT_ENGINE_OPERATION_RECIPE_H_
#define SEXTANT_ENGINE_OPERATION_RECIPE_H_

#include <string>
#include <vector>

#include "engine/operation/array.h"
#include "engine/operation/flop_convention.h"
#include "engine/operation/operation.h"
#include "engine/operation/step.h"

namespace sextant {

struct Recipe {
  std::vector<Array> operands;  // operand i is bit i of an OperandSet
  std::vector<Array> outputs;
  OperandSet differentiable = 0;  // operands that can have a gradient
  std::vector<Step> forward;
  // The same in kernels that each pay their round trip; empty where `forward` is that.
  std::vector<Step> unfused;
  // From the output's gradient to those of the operands. An array of role kGradient that is
  // read is a gradient that arrives; all else that is read has to be saved or held.
  std::vector<Step> backward;
};

struct RecipeInput {
  OperationTypes types = {};  // defaults filled in
  FlopConvention convention = {};
};

// Source: derived in docs/operations.md, from each operation's definition.
// `operation` has passed CheckOperation().
Recipe RecipeOf(const Operation& operation, const RecipeInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_RECIPE_H_
