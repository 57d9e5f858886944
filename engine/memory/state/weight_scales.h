// Scales that lie beside quantised and fp8 weights.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_WEIGHT_SCALES_H_
#define SEXTANT_ENGINE_MEMORY_STATE_WEIGHT_SCALES_H_

#include <cstdint>

#include "engine/memory/state/state_spec.h"
#include "engine/model/sharding/tensor_shard.h"

namespace sextant {

// Bytes beside the part of a tensor that a GPU holds, in one layer, stored in fp8.
//   kTensor  4 a matrix                                 per-tensor scaling, arXiv 2209.05433
//   kBlock   4 ceil(rows / 128) ceil(columns / 128)     DeepSeek-V3, arXiv 2412.19437, section 3.3
//   kMx      rows x ceil(columns / 32); a vector's 32   OCP MX v1.0: a byte (E8M0) a 32 elements
// `transposed`: the copy whose columns lie together, so that blocks of 32 are of these.
int64_t Fp8ScaleBytes(WeightScaling scaling, const TensorShard& shard, bool transposed);

// The same, stored in `format`: an fp32 a block, or a row, where block_size is 0 and a weight has
// 8 bits. Doubly quantised, a byte a block, and an fp32 a 256 of these:
//   8 / 64 + 32 / (64 x 256) = 0.127 bits a parameter
// Source: Dettmers et al. 2023 (QLoRA, arXiv 2305.14314) section 3. Rows: Dettmers et al. 2022
// (LLM.int8(), arXiv 2208.07339) section 2.
int64_t QuantizedScaleBytes(const FrozenWeightFormat& format, const TensorShard& shard);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_WEIGHT_SCALES_H_
