// A tensor as in PyTorch and NumPy: a shape and strides over a flat storage; the strides of a view
// in another shape, and those of an elementwise result.
#ifndef SEXTANT_ENGINE_TENSOR_STRIDED_TENSOR_H_
#define SEXTANT_ENGINE_TENSOR_STRIDED_TENSOR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/shape.h"

namespace sextant {

// Element [i, j, ...] is at storage position offset + i x strides[0] + j x strides[1] + ... All
// fields except the data type are in elements.
struct StridedTensor {
  Shape shape = {};
  Strides strides = {};  // nonnegative; 0 repeats one element along the axis
  int64_t offset = 0;
  int64_t storage_elements = 0;  // of the whole storage, which views share
  DataType data_type = DataType::kUnspecified;

  // Elements of the shape; more than in the storage where an axis repeats.
  int64_t element_count() const;
};

// A row-major tensor with its own storage. `shape` has passed CheckShape().
StridedTensor ContiguousTensor(Shape shape, DataType data_type);

// Adds the errors of a caller's tensor: its shape, a stride per axis, none negative, and no
// element outside the storage.
void CheckStridedTensor(const StridedTensor& tensor, absl::string_view path,
                        FieldViolations& violations);

// Elements of the smallest storage that holds the tensor, which has passed CheckStridedTensor().
int64_t ReachedElements(const StridedTensor& tensor);

// True where the elements are in row-major order without gaps. Axes of size 1 are ignored: no
// index steps along them, so their strides have no effect. Source: PyTorch,
// torch.Tensor.is_contiguous.
bool IsContiguous(const StridedTensor& tensor);

// The storage position of the element at `index`; negative indices count from the axis's end.
//
// Errors: kInvalidArgument "index" where it does not have one entry per axis, "index[i]" where an
// entry is outside its axis.
absl::StatusOr<int64_t> FlatIndex(const StridedTensor& tensor, absl::Span<const int64_t> index);

// Strides that give `tensor`'s elements `shape`, of the same number of elements, in the same
// row-major order; absent where there are none.
//
// Derivation. Leave out axes of size 1, which never step. Enumerate the elements in row-major
// order. Two neighbouring axes a and b = a + 1 are evenly spaced where stride_a = size_b x
// stride_b: the step from the end of one row of b to the start of the next is then stride_b, like
// all others. Maximal runs of such axes are blocks: each is one evenly spaced sequence, and the
// spacing changes at the border of two blocks. An axis of the new shape has one stride, so it
// can't step across a border as well as inside a block: the new axes must fall into consecutive
// groups, each with exactly one block's elements, and in a group
//
//   stride of an axis = spacing of the block x product of the sizes after it in the group.
//
// This is also necessary: strides that give the same order are determined by the positions of the
// elements one step along each axis. Tests check them against the positions of all elements.
// Source of the behaviour: PyTorch, torch.Tensor.view.
absl::optional<Strides> ViewStrides(const StridedTensor& tensor, absl::Span<const int64_t> shape);

// Strides of the newly allocated result, of shape `shape`, of an elementwise operation on
// `operands`, whose shapes broadcast to it. The result is dense and keeps the memory order of the
// operands' axes, so that all are read and written in step: the sum of two transposed matrices is
// transposed. A single dense operand passes its strides on. Otherwise axes are sorted by stride,
// decided by the first operand whose strides of the two axes differ; ties are in row-major order.
// Source of the behaviour: PyTorch, TensorIterator's reordering of dimensions, and
// torch.preserve_format for conversions.
Strides ElementwiseStrides(absl::Span<const int64_t> shape,
                           absl::Span<const StridedTensor> operands);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_STRIDED_TENSOR_H_
