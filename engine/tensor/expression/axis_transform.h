// rearrange, reduce and repeat: their result, as a view or a copy, and its cost.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TRANSFORM_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TRANSFORM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

// The function that combines several numbers into one.
enum class ReductionKind { kSum, kMean, kMax, kMin, kProduct };

// All counts are in elements of tensor.data_type.
struct AxisTransform {
  StridedTensor tensor = {};
  std::vector<AxisSize> axes = {};             // every named axis, in order of appearance
  std::vector<std::string> reduced_axes = {};  // unnamed ones as sizes
  bool is_view = false;
  int64_t allocated_elements = 0;
  int64_t read_elements = 0;     // 0 for a view
  int64_t written_elements = 0;  // 0 for a view
  Flops flops = Flops(0);
  std::string reason = {};  // one sentence: why it is a view or a copy
};

// Splits, reorders and merges axes. Splitting and reordering give views; merging gives one where
// ViewStrides() finds strides.
//
// Errors of all three: kInvalidArgument "expression" with the column, "tensor" where it does not
// have the expression's number of axes, "sizes[1]" where a given size is wrong or belongs to no
// axis of the expression, "result" where its shape fails CheckShape().
absl::StatusOr<AxisTransform> Rearrange(const StridedTensor& tensor, absl::string_view expression,
                                        absl::Span<const AxisSize> sizes);

// The same with new axes, whose sizes are given or numbers. They have stride 0 unless merging
// needs a copy.
absl::StatusOr<AxisTransform> Repeat(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes);

// Combines all elements along the axes that the right side lacks, in one pass: the tensor is read
// once, and the result is written once, row-major.
//
// FLOPs: one per element read (an accumulator starts empty, as in 2 m n k of a matmul), and for
// the mean one division per element of the result. A comparison counts as one. Without an axis to
// reduce this is a rearrangement.
absl::StatusOr<AxisTransform> Reduce(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes, ReductionKind kind);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TRANSFORM_H_
