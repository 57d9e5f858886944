// "b (h d) -> b h d": how a tensor's axes are split, reordered, merged, dropped and repeated.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_PATTERN_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_PATTERN_H_

#include "absl/status/statusor.h"
#include "engine/tensor/expression/axis_term.h"

namespace sextant {

enum class AxisTransformKind {
  kRearrange,  // the same axes on both sides
  kReduce,     // the right side lacks those that are reduced
  kRepeat,     // the right side has more
};

struct AxisPattern {
  AxisTerm left = {};
  AxisTerm right = {};
};

// Rules are those of einops (documentation of rearrange, reduce and repeat): an axis once a
// side; "..." on the left not in parentheses; a number stands for an axis without a name: 1
// everywhere, others only for what reduce takes away or repeat adds.
//
// Errors: kInvalidArgument "expression", with the column.
absl::StatusOr<AxisPattern> ParseAxisPattern(TokenReader& reader, AxisTransformKind kind);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_PATTERN_H_
