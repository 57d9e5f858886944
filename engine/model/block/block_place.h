// The place of a weight in a block's program, which shards and gradients are derived from.
#ifndef SEXTANT_ENGINE_MODEL_BLOCK_BLOCK_PLACE_H_
#define SEXTANT_ENGINE_MODEL_BLOCK_BLOCK_PLACE_H_

#include <cstdint>

namespace sextant {

// The axis of a matrix that tensor parallel ranks divide.
enum class MatrixSplit : uint8_t { kNone, kRows, kColumns };

struct BlockPlace {
  MatrixSplit split = MatrixSplit::kNone;
  bool reads_input = false;   // of the block
  bool makes_output = false;  // of the block
  bool is_filter = false;     // of a convolution: [channels, taps]
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_BLOCK_BLOCK_PLACE_H_
