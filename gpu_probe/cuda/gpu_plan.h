// What is measured on a GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_PLAN_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_PLAN_H_

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/options.h"
#include "gpu_probe/point.h"

namespace sextant {

// The points of options.mode, or of options.matmuls where some are given, on the GPU of `session`,
// with the libraries that `search` finds. What a library that is missing would measure is left out
// with a note.
//
// Errors: Absent() "no_cublaslt"; kUnimplemented where a shape's type is not the GPU's.
absl::StatusOr<ProbePlan> GpuPlan(const ProbeOptions& options, const SharedSession& session,
                                  const CudaLibrarySearch& search);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_PLAN_H_
