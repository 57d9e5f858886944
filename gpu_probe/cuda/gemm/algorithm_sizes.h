// What cuBLASLt's numbers for tiles and clusters mean: cublasLtMatmulTile_t and
// cublasLtClusterShape_t of cublasLt.h, cuBLAS 13.1.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_SIZES_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_SIZES_H_

#include <cstdint>

#include "absl/types/optional.h"

namespace sextant {

struct BlockSize {
  int16_t rows = 0;
  int16_t columns = 0;
};

// Elements of C that one block of threads computes, column-major as cuBLASLt counts. Absent for
// numbers that mean none, or that came later.
absl::optional<BlockSize> TileOf(uint32_t number);

// Blocks that share their operands.
absl::optional<BlockSize> ClusterOf(uint32_t number);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_SIZES_H_
