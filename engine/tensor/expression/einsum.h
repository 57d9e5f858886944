// The result and the cost of an einsum expression.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/tensor/expression/contraction.h"
#include "engine/tensor/expression/einsum_pattern.h"
#include "engine/tensor/shape.h"

namespace sextant {

// The axes of an expression, with sizes from the operands' shapes.
struct BoundEinsum {
  EinsumStyle style = EinsumStyle::kNamed;  // the style it was read in
  Contraction contraction = {};
  Shape shape = {};  // of the result
  // Elements read of each operand: all, or its diagonal.
  std::vector<int64_t> operand_elements = {};
};

// Binds the axes of `expression` to `operands`, without searching for a contraction order. Axes of
// one name have one size; only axes covered by "..." broadcast.
//
// Errors: as EinsumCostOf(), except BestOrder()'s.
absl::StatusOr<BoundEinsum> EinsumAxesOf(absl::string_view expression,
                                         absl::Span<const Shape> operands,
                                         EinsumStyle style = EinsumStyle::kDetect);

struct EinsumCost {
  EinsumStyle style = EinsumStyle::kNamed;  // the style it was read in
  Shape shape = {};                         // of the result
  // Every axis and its size; those covered by "..." are named "...0", "...1".
  std::vector<AxisSize> axes = {};
  std::vector<std::string> summed_axes = {};
  // Each operand once, a diagonal with only its elements. Excludes intermediates.
  std::vector<int64_t> operand_elements = {};
  int64_t result_elements = 0;
  // FLOPs by the convention of ContractionStep. Equal to `best` for up to two operands. Absent
  // where an intermediate would have more than 9.2e18 elements.
  absl::optional<ContractionOrder> left_to_right = {};
  ContractionOrder best = {};
};

// Errors: kInvalidArgument "expression" with the column, "operands", "operands[1]",
// "operands[1].shape[0]", "result": as ParseEinsum(), BestOrder() and CheckShape(); "operands"
// also where their number, or the number of one's axes, differs from the expression's.
absl::StatusOr<EinsumCost> EinsumCostOf(absl::string_view expression,
                                        absl::Span<const Shape> operands,
                                        EinsumStyle style = EinsumStyle::kDetect);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_H_
