// Which of the algorithms that the library offers is fastest here.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_MATMUL_TRIAL_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_MATMUL_TRIAL_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_workload.h"

namespace sextant {

// Seconds that the trials of one type may still take, by the host's clock: a library loads each
// kernel as it is first run, which may take longer than all else.
struct TrialBudget {
  Clock* clock = nullptr;
  double left_seconds = 0;
};

struct MatmulTrial {
  size_t choice = 0;          // 0: the library's own first choice, or none was tried
  double median_seconds = 0;  // of one run of another choice, timed as a point is; else 0
};

// Times the first four of `choice_count` algorithms, each by a workload of its own that `make`
// makes, with the operands of the point and in their rotation. Another than the first is only
// chosen where it takes at least 2 % less; its result is then checked, and it is timed again for
// its median. One that fails is passed over, unless it is the first.
//
// Errors: GpuWorkload::Run()'s of the first; kDataLoss where the chosen one's result is wrong; the
// GPU's own.
absl::StatusOr<MatmulTrial> TryAlgorithms(
    const std::function<std::unique_ptr<GpuMatmulWorkload>(size_t choice)>& make,
    size_t choice_count, GpuSession& session, TrialBudget& budget);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_MATMUL_TRIAL_H_
