// Which of the algorithms that the library offers is fastest here.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_MATMUL_TRIAL_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_MATMUL_TRIAL_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/cuda/gemm/gpu_matmul.h"

namespace sextant {

// What the trials of one type may still take, by the host's clock: a library loads each kernel as
// it is first run, which may take longer than all else.
struct TrialBudget {
  Clock* clock = nullptr;
  double left_seconds = 0;
};

struct MatmulTrial {
  size_t choice = 0;       // 0: the library's own first choice, or none was tried
  double speed_ratio = 1;  // of the first choice's time over its
};

// Runs the first four algorithms three times each after a run to warm up, and longer where that is
// short, on `operands`. Another than the first is only chosen where it takes at least 2 % less.
// One that fails is passed over, unless it is the first.
//
// Errors: GpuMatmul::Enqueue()'s of the first; the GPU's own.
absl::StatusOr<MatmulTrial> TryAlgorithms(const GpuMatmul& matmul,
                                          const GpuMatmulOperands& operands, GpuSession& session,
                                          TrialBudget& budget);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_MATMUL_TRIAL_H_
