// Both sides of "b (h d) -> b h d" over a tensor: which axes the result is made of.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_SIDES_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_SIDES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/tensor/expression/axis_binding.h"
#include "engine/tensor/expression/axis_pattern.h"

namespace sextant {

// Texts point into the expression.
struct AxisSides {
  std::vector<BoundAxis> left = {};     // single axes, in the tensor's order
  std::vector<BoundAxis> right = {};    // in the result's order; new ones have stride 0
  std::vector<BoundAxis> reduced = {};  // of the left, those that the right lacks
  Shape shape = {};                     // of the result
};

// Errors: those that axis_transform.h lists.
absl::StatusOr<AxisSides> BindSides(const StridedTensor& tensor, absl::string_view expression,
                                    absl::Span<const AxisSize> sizes, AxisTransformKind kind);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_SIDES_H_
