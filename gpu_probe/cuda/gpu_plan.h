// What is measured on a GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_PLAN_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_PLAN_H_

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/options.h"
#include "gpu_probe/point.h"

namespace sextant {

// Libraries of kernels, as far as they are there.
struct GpuLibraries {
  CublasLt cublaslt;
  absl::StatusOr<Cudnn> cudnn;

  // Errors: Absent() "no_cublaslt".
  static absl::StatusOr<GpuLibraries> Load(const CudaLibrarySearch& search);
};

// The points of options.mode, or of options.matmuls where some are given, on the GPU of `session`.
// A note says what is left out for want of cuDNN.
//
// Errors: kUnimplemented where a shape's type is not the GPU's.
absl::StatusOr<ProbePlan> GpuPlan(const ProbeOptions& options, const SharedSession& session,
                                  const GpuLibraries& libraries);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_PLAN_H_
