// In which order of axes an elementwise operation lays out its result.
#ifndef SEXTANT_ENGINE_TENSOR_ELEMENTWISE_LAYOUT_H_
#define SEXTANT_ENGINE_TENSOR_ELEMENTWISE_LAYOUT_H_

#include "absl/types/span.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

// Strides of the newly allocated result of an elementwise operation, whose shape is `shape`, on
// `operands`, whose shapes broadcast to it. The result is dense, and keeps the order in which the
// operands' axes lie in memory, so that all are read and written in step: the sum of two
// transposed matrices is transposed. One dense operand passes its strides on; otherwise axes
// are sorted by stride, the first operand that tells two of them apart deciding, ties as in
// row-major order.
// Source of the behaviour: PyTorch, TensorIterator's reordering of dimensions, and
// torch.preserve_format for conversions.
Strides ElementwiseStrides(absl::Span<const int64_t> shape,
                           absl::Span<const StridedTensor> operands);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_ELEMENTWISE_LAYOUT_H_
