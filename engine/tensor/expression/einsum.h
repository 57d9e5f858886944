// What an einsum expression makes of its operands, and what it costs.
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
#include "engine/tensor/expression/einsum_axes.h"
#include "engine/tensor/expression/einsum_pattern.h"
#include "engine/tensor/shape.h"

namespace sextant {

struct EinsumCost {
  EinsumStyle style = EinsumStyle::kNamed;  // as it was read
  Shape shape = {};                         // of the result
  // Every axis and its size; those that "..." stands for are named "...0", "...1".
  std::vector<AxisSize> axes = {};
  std::vector<std::string> summed_axes = {};
  // Each operand once; of a diagonal only its elements. Intermediates are not in it.
  std::vector<int64_t> operand_elements = {};
  int64_t result_elements = 0;
  // FLOPs by the convention of ContractionStep. Alike for up to two operands. Absent where an
  // intermediate on the way would have more than 9.2e18 elements.
  absl::optional<ContractionOrder> left_to_right = {};
  ContractionOrder best = {};
};

// Errors: kInvalidArgument "expression" with the column, "operands", "operands[1]",
// "operands[1].shape[0]", "result": as ParseEinsum(), BindEinsum(), BestOrder() and
// CheckShape().
absl::StatusOr<EinsumCost> EinsumCostOf(absl::string_view expression,
                                        absl::Span<const Shape> operands,
                                        EinsumStyle style = EinsumStyle::kDetect);

// The axes alone, without a search for an order of contraction. Errors: as EinsumCostOf(), but
// for BestOrder()'s.
absl::StatusOr<BoundEinsum> EinsumAxesOf(absl::string_view expression,
                                         absl::Span<const Shape> operands,
                                         EinsumStyle style = EinsumStyle::kDetect);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_H_
