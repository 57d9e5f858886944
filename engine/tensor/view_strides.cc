#include "engine/tensor/view_strides.h"

#include "absl/container/inlined_vector.h"

namespace sextant {
namespace {

// `elements` elements, `spacing` apart.
struct Block {
  int64_t elements;
  int64_t spacing;
};

// Innermost first; one block of one element for a tensor of one element.
absl::InlinedVector<Block, 6> BlocksOf(const StridedTensor& tensor) {
  absl::InlinedVector<Block, 6> blocks;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 1) continue;
    if (!blocks.empty() &&
        tensor.strides[i] == StrideBefore(blocks.back().elements, blocks.back().spacing)) {
      blocks.back().elements *= tensor.shape[i];
    } else {
      blocks.push_back({tensor.shape[i], tensor.strides[i]});
    }
  }
  if (blocks.empty()) blocks.push_back({1, 1});
  return blocks;
}

}  // namespace

absl::optional<Strides> ViewStrides(const StridedTensor& tensor, absl::Span<const int64_t> shape) {
  const absl::InlinedVector<Block, 6> blocks = BlocksOf(tensor);
  Strides strides(shape.size(), 1);
  size_t block = 0;
  int64_t used = 1;  // elements of the block that the group's axes cover so far
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && used == blocks[block].elements) {
      ++block;
      used = 1;
    }
    strides[i] = StrideBefore(used, blocks[block].spacing);
    used *= shape[i];
    if (used > blocks[block].elements) return absl::nullopt;
  }
  return strides;
}

}  // namespace sextant
