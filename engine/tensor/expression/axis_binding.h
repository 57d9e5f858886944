// The single axes that a tensor's axes are made of, with their sizes and strides.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_BINDING_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_BINDING_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

// The sizes that a caller gives, by axis; names point into them.
using GivenSizes = absl::flat_hash_map<absl::string_view, int64_t>;

inline constexpr size_t kMaxGivenSizes = 256;

// Errors: kInvalidArgument "sizes" of more than kMaxGivenSizes, "sizes[1]" where a name comes twice
// or a size is out of range.
absl::StatusOr<GivenSizes> GivenSizesOf(absl::Span<const AxisSize> sizes);

struct BoundAxis {
  TermAxis axis = {};  // a kEllipsis for each axis that "..." stands for
  int64_t size = 1;
  int64_t stride = 0;
};

// The axes of `term`, which describes `tensor`, composite ones split. A composite axis of size n
// with one size that is not given has n / (product of the others) of it.
//
// Errors: kInvalidArgument "tensor" where it has another number of axes; "expression" with the
// column where a size is not known, does not divide its axis, or differs from it.
absl::StatusOr<std::vector<BoundAxis>> BindAxes(const AxisTerm& term, const StridedTensor& tensor,
                                                const GivenSizes& given);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_BINDING_H_
