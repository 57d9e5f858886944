// rearrange, reduce and repeat: what they make of a tensor, as a view or a copy, and their cost.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TRANSFORM_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TRANSFORM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/tensor/expression/axis_pattern.h"
#include "engine/tensor/reduction.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

// All count in elements of tensor.data_type.
struct AxisTransform {
  StridedTensor tensor = {};
  std::vector<AxisSize> axes = {};             // every named axis, in order of appearance
  std::vector<std::string> reduced_axes = {};  // unnamed ones as their sizes
  bool is_view = false;
  int64_t allocated_elements = 0;
  int64_t read_elements = 0;     // 0 for a view
  int64_t written_elements = 0;  // 0 for a view
  Flops flops = Flops(0);
  std::string reason = {};  // one sentence: why it is a view or a copy
};

// Splits, reorders and merges axes. Splitting and reordering are views; merging is one where
// ViewStrides() finds strides.
//
// Errors, of all three: kInvalidArgument "expression" with the column, "tensor" where its axes
// are not as many as the expression's, "sizes[1]" where a given size is wrong or of no axis of
// the expression, "result" where its shape is not one of CheckShape().
absl::StatusOr<AxisTransform> Rearrange(const StridedTensor& tensor, absl::string_view expression,
                                        absl::Span<const AxisSize> sizes);

// The same with new axes, whose sizes are given or numbers. They have stride 0 as long as no
// merging needs a copy.
absl::StatusOr<AxisTransform> Repeat(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes);

// Combines all elements along the axes that the right side lacks. One pass: the tensor is read
// once, and the result written once, row-major.
//
// FLOPs: one for each element that is read (an accumulator starts empty, as in 2 m n k of a
// matmul), and for the mean a division for each element of the result. A comparison counts
// as one. Without an axis to reduce it is a rearrangement.
absl::StatusOr<AxisTransform> Reduce(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes, ReductionKind kind);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TRANSFORM_H_
