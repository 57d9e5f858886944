// Checks that a product on a GPU is right, by kernels of the probe's own.
#ifndef SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_CHECK_H_
#define SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/matmul/gpu_matmul.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_workload.h"

namespace sextant::probe {

// The scale of A and of B where each has one: elements times it have a variance of 1.
float ScaleOfMatrix(const GpuMatmulType& type);

// Bytes of scratch memory for the checks of a problem.
int64_t CheckScratchBytesOf(const GpuMatmulProblem& problem);

// A, B or C of one multiplication of the batch, as the kernels' arguments.
struct GpuMatrices {
  GpuMatrix a;
  GpuMatrix b;
  GpuMatrix c;
};
GpuMatrices MatricesOf(const GpuMatmulProblem& problem, const GpuMatmulOperands& operands,
                       const GpuMatmulScales& scales, int64_t batch);

// Freivalds' check of all of C: for random signs r, compares C r with A (B r), in each row for 256
// columns at a time. They may differ by rounding (ToleranceOf()), and must be equal for INT8.
// `seed` selects the signs.
// Source: Freivalds, "Probabilistic Machines Can Use Less Running Time", IFIP 1977.
//
// Errors: kDataLoss naming the row and the columns; GpuCheck::Run()'s.
absl::Status CheckGpuProduct(const GpuMatmulProblem& problem, const GpuMatmulOperands& operands,
                             uint64_t seed, GpuMatmulArena& arena, GpuSession& session);

// 64 bits of a hash of C.
//
// Errors: GpuSession's.
absl::StatusOr<uint64_t> HashOfOutput(const GpuMatmulProblem& problem,
                                      const GpuMatmulOperands& operands, GpuMatmulArena& arena,
                                      GpuSession& session);

// Multiplies small whole numbers, whose sums are exact in any order, and compares each element with
// that of a plain kernel. Does nothing where the library does not multiply that shape.
//
// Errors: kDataLoss naming the element; GpuMatmul's, GpuCheck::Run()'s.
absl::Status CheckExactProduct(const SharedCublasLt& cublaslt, GpuMatmulArena& arena);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_CHECK_H_
