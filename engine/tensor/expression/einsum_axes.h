// The axes of an einsum expression, with the sizes that the operands' shapes give them.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_AXES_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_AXES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/tensor/expression/contraction.h"
#include "engine/tensor/expression/einsum_pattern.h"
#include "engine/tensor/shape.h"

namespace sextant {

struct BoundEinsum {
  EinsumStyle style = EinsumStyle::kNamed;  // as it was read
  Contraction contraction = {};
  Shape shape = {};  // of the result
  // Elements that are read of each operand: all, or its diagonal.
  std::vector<int64_t> operand_elements = {};
};

// Axes of one name have one size; only those that "..." stands for broadcast. CheckShape() has
// passed `shapes`.
//
// Errors: kInvalidArgument "operands" where they are not as many as the expression's,
// "operands[1]" where one has another number of axes or its "..." does not broadcast,
// "expression" with the column of an axis whose size differs.
absl::StatusOr<BoundEinsum> BindEinsum(const EinsumPattern& pattern,
                                       absl::Span<const Shape> shapes);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_AXES_H_
