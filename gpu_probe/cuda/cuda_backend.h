// The probe's backend for NVIDIA's GPUs, and the plan of one GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_

#include "absl/status/statusor.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/options.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// Libraries of kernels, where available.
struct GpuLibraries {
  CublasLt cublaslt;
  absl::StatusOr<Cudnn> cudnn;

  // Errors: Absent() "no_cublaslt".
  static absl::StatusOr<GpuLibraries> Load(const CudaLibrarySearch& search);
};

// The points of options.mode, or of options.matmuls where not empty, on the GPU of `session`.
// Without cuDNN a note lists what is left out.
//
// Errors: kUnimplemented where the GPU does not support a shape's type.
absl::StatusOr<ProbePlan> GpuPlan(const ProbeOptions& options, const SharedSession& session,
                                  const GpuLibraries& libraries);

// The backend of this host. Reads the environment at once (TakeCudaEnvironment()), and loads the
// driver's libraries on first use.
//
// Its plans come from AdmitGpu(), FindGpu(), GpuSession::Open() and GpuPlan(), in that order.
Backend CudaBackend();

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
