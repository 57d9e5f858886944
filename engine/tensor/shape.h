// Shapes: the sizes of a tensor's axes, outermost first. A tensor without axes is a scalar.
#ifndef SEXTANT_ENGINE_TENSOR_SHAPE_H_
#define SEXTANT_ENGINE_TENSOR_SHAPE_H_

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"

namespace sextant {

// The most axes of a tensor, the largest size of an axis (1.1e12), and the most operands of one
// operation.
inline constexpr int kMaxAxes = 32;
inline constexpr int64_t kMaxDimension = int64_t{1} << 40;
inline constexpr int kMaxOperands = 64;

using Shape = absl::InlinedVector<int64_t, 6>;
// The distance between neighbours along each axis, in elements of the storage.
using Strides = absl::InlinedVector<int64_t, 6>;

// "[2, 3, 4]"; "[]" for a scalar.
std::string ShapeText(absl::Span<const int64_t> shape);

// The product of the sizes, 1 for a scalar; absent where it exceeds 9.2e18.
absl::optional<int64_t> ElementCount(absl::Span<const int64_t> shape);

// Adds the errors of a caller's shape: more than kMaxAxes axes or 9.2e18 elements at `path`, a
// size outside 1 to kMaxDimension at `path`[i].
void CheckShape(absl::Span<const int64_t> shape, absl::string_view path,
                FieldViolations& violations);

// Strides of a row-major tensor: the last axis has stride 1. ElementCount() must not overflow.
Strides ContiguousStrides(absl::Span<const int64_t> shape);

// size x stride, or `stride` where that exceeds 9.2e18: the stride that PyTorch gives an axis of
// size 1 in front of an axis of `size` and `stride`. No index steps along it.
int64_t StrideBefore(int64_t size, int64_t stride);

// The shape of an elementwise operation on shapes `a` and `b`, aligned at the last axis: a missing
// axis or one of size 1 is stretched to the other's size.
// Source: NumPy, "General broadcasting rules".
//
// Errors: kInvalidArgument `field` where two sizes differ and neither is 1.
absl::StatusOr<Shape> BroadcastShapes(absl::Span<const int64_t> a, absl::Span<const int64_t> b,
                                      absl::string_view field);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_SHAPE_H_
