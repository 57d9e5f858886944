// Matrices as the kernels of kernels/matmul_*.cu know them.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATRIX_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATRIX_H_

#include <cstdint>

#include "gpu_probe/cuda/cuda_driver.h"

namespace sextant {

// kernels/matmul_formats.cuh says what each is.
enum class MatrixFormat : int {
  kFp64 = 0,
  kFp32 = 1,
  kTf32 = 2,
  kFp16 = 3,
  kBf16 = 4,
  kInt8 = 5,
  kE4m3 = 6,
  kMxE4m3 = 7,
  kNvE2m1 = 8,
  kInt32 = 9,
};

// The kernels' Matrix: an argument of theirs, so that its layout is theirs.
struct GpuMatrix {
  cuda::Address elements = 0;
  cuda::Address scales = 0;
  int64_t row_step = 0;
  int64_t k_step = 1;
  int64_t scale_tiles = 0;
  double scale = 1;
  MatrixFormat format = MatrixFormat::kFp32;
};
static_assert(sizeof(GpuMatrix) == 56);

// The kernels' Tolerance.
struct MatmulTolerance {
  double sums = 0;
  double output = 0;
};

// Columns of C that are summed up together. As kernels/matmul_check.cu has it.
inline constexpr int64_t kGpuCheckedColumnCount = 256;

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATRIX_H_
