// The innermost loop of the built-in fp32 multiplication: one tile of C, held in registers.
#ifndef SEXTANT_GPU_PROBE_HOST_BUILTIN_MICRO_KERNELS_H_
#define SEXTANT_GPU_PROBE_HOST_BUILTIN_MICRO_KERNELS_H_

#include <cstdint>

#include "gpu_probe/host/simd.h"

namespace sextant {

// No level's tile has more elements than this.
inline constexpr int kMaxTileElementCount = 14 * 32;

// tile[rows, columns] = A' B, where A' is a packed panel of k columns of `row_count` elements
// each and B one of k rows of `column_count` each. The tile is dense, row after row.
struct MicroKernel {
  const char* name = "";  // "avx512f 14x32"
  int row_count = 0;
  int column_count = 0;
  void (*run)(const float* a_panel, const float* b_panel, int64_t k, float* tile) = nullptr;
};

// The kernel for a level that this processor has.
MicroKernel MicroKernelOf(SimdLevel level);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_BUILTIN_MICRO_KERNELS_H_
