#include "engine/tensor/elementwise_layout.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace sextant {
namespace {

using AxisOrder = absl::InlinedVector<size_t, 6>;

// Every storage position from the first element to the last belongs to exactly one element.
bool IsDense(const StridedTensor& tensor) {
  AxisOrder order;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] != 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  int64_t expected = 1;
  for (const size_t axis : order) {
    if (tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

// The operand's stride along `axis` of the result, which has `axis_count` axes: 0 where the
// operand is stretched.
int64_t StrideAlong(const StridedTensor& operand, size_t axis, size_t axis_count) {
  const size_t missing = axis_count - operand.shape.size();
  if (axis < missing || operand.shape[axis - missing] == 1) return 0;
  return operand.strides[axis - missing];
}

// Above 0 where axis `a` has to move outwards of axis `b`, below 0 where it may not, 0 where no
// operand tells. A stretched axis tells nothing.
int Compare(absl::Span<const int64_t> shape, absl::Span<const StridedTensor> operands, size_t a,
            size_t b) {
  for (const StridedTensor& operand : operands) {
    const int64_t stride_a = StrideAlong(operand, a, shape.size());
    const int64_t stride_b = StrideAlong(operand, b, shape.size());
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

}  // namespace

Strides ElementwiseStrides(absl::Span<const int64_t> shape,
                           absl::Span<const StridedTensor> operands) {
  if (operands.size() == 1 && IsDense(operands[0])) return operands[0].strides;
  AxisOrder order;  // innermost first
  for (size_t i = shape.size(); i-- > 0;) order.push_back(i);
  // By insertion, because the comparison has no total order.
  for (size_t i = 1; i < order.size(); ++i) {
    size_t moving = i;
    for (size_t other = i; other-- > 0;) {
      const int comparison = Compare(shape, operands, order[other], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[other], order[moving]);
      moving = other;
    }
  }
  Strides strides(shape.size(), 1);
  int64_t stride = 1;
  for (const size_t axis : order) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace sextant
