// The probe's backend for NVIDIA's GPUs.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/guard.h"

namespace sextant {

// That a GPU may be measured now.
struct Admission {
  Guard guard;
  int64_t memory_cap_bytes = 0;
};

// Has the guard look at the GPU named `uuid`. Asks NVML alone: a GPU that is refused has seen
// nothing of CUDA. `sleep` waits for that many seconds.
//
// Errors: Guard::Admit()'s, and Refuse() "unreadable" where there is no NVML to ask.
absl::StatusOr<Admission> AdmitGpu(const CudaSystem& system, const std::string& uuid,
                                   const std::function<void(double seconds)>& sleep);

// The GPU named `uuid`. Starts CUDA.
//
// Errors: ListGpus()'s; kNotFound where there is none of that name; CheckComputeCapability()'s.
absl::StatusOr<Gpu> FindGpu(const CudaSystem& system, const std::string& uuid);

// The backend of this host. Takes the environment at once (TakeCudaEnvironment()), and loads the
// driver's libraries when it is first asked.
//
// Its plans come from AdmitGpu(), FindGpu(), GpuSession::Open() and GpuPlan(), in that order.
Backend CudaBackend();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
