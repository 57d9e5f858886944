// How the operands of a narrow matrix product are scaled.
#ifndef SEXTANT_ENGINE_TENSOR_MATMUL_SCALING_H_
#define SEXTANT_ENGINE_TENSOR_MATMUL_SCALING_H_

#include "engine/tensor/data_type.h"

namespace sextant {

// The scaling of narrow types, which is part of a measured time: x arrives in bf16 and is
// quantised by a separate kernel; w is quantised long before.
enum class MatmulScaling {
  kNone,    // operands are used as they are
  kTensor,  // one scale per tensor (or row): x is read to find it, then quantised
  kBlock,   // one scale per block of elements: "fp8_block" in 1 x 128 of x and 128 x 128 of w
};

// True for fp8 in either format, which is scaled by tensor or by block; block formats have scales
// of their own.
constexpr bool IsFp8(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8E4m3 || type == DataType::kFp8E5m2;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_MATMUL_SCALING_H_
