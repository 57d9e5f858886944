// The probe's backend for NVIDIA's GPUs.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/guard.h"
#include "gpu_probe/options.h"
#include "gpu_probe/point.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// A GPU that may be measured now.
struct AdmittedGpu {
  Gpu gpu;
  Guard guard;
  int64_t memory_cap_bytes = 0;
};

// The GPU named `uuid`, the first where it is empty, if the guard lets it be measured. `sleep`
// waits for that many seconds.
//
// Errors: ListGpus()'s; kNotFound where there is none of that name; kUnimplemented where the GPU is
// older than what kernels are made for; Guard's, and Refuse() "unreadable" where there is no NVML
// to ask.
absl::StatusOr<AdmittedGpu> AdmitGpu(const CudaSystem& system, const std::string& uuid,
                                     const std::function<void(double seconds)>& sleep);

// As Backend has them, on this host.
absl::StatusOr<std::vector<v1::Device>> CudaDevices();

// Errors: Absent() "built_without_cuda".
absl::Status CheckBuiltWithCuda();

// The plan for options.device, the first GPU where that is empty. Makes its CUDA context.
//
// Errors: CheckBuiltWithCuda()'s; AdmitGpu()'s, GpuSession::Open()'s, GpuPlan()'s.
absl::StatusOr<ProbePlan> CudaProbePlan(const ProbeOptions& options);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
