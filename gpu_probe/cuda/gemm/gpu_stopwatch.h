// Seconds of work on a GPU by its own clock.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_STOPWATCH_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_STOPWATCH_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

// Has `enqueue` queue work, waits for it, and tells what it took.
//
// Errors: `enqueue`'s, CudaStatus()'s.
absl::StatusOr<double> SecondsOnGpu(GpuSession& session,
                                    const std::function<absl::Status()>& enqueue);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_STOPWATCH_H_
