// Whether a tensor can be seen in another shape without moving an element.
#ifndef SEXTANT_ENGINE_TENSOR_VIEW_STRIDES_H_
#define SEXTANT_ENGINE_TENSOR_VIEW_STRIDES_H_

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

// Strides under which `shape`, of as many elements as `tensor`, shows its elements in the same
// row-major order; nothing where no strides do.
//
// Derivation. Leave out axes of size 1, which never step. Count through the elements in row-major
// order. Two neighbouring axes a and b = a + 1 move on evenly where stride_a = size_b x stride_b:
// the step from the end of one row of b to the start of the next is then stride_b like all
// others. Maximal runs of such axes are blocks: each is one evenly spaced sequence, and at the
// border of two blocks the spacing changes. An axis of the new shape has one stride, so that it
// can't step over a border as well as inside a block: the new axes have to fall into
// consecutive groups, each of exactly one block's elements, and in a group
//
//   stride of an axis = spacing of the block x product of the sizes after it in the group.
//
// It is also necessary: strides that show the same order are determined by the positions of
// the elements one step along each axis, and tests compare with all of them.
// Source of the behaviour: PyTorch, torch.Tensor.view.
absl::optional<Strides> ViewStrides(const StridedTensor& tensor, absl::Span<const int64_t> shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_VIEW_STRIDES_H_
