// The probe's backend for NVIDIA's GPUs. So far it lists them, and tells whether one may be
// measured; it has no kernels to measure with.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/point.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// A GPU that may be measured now.
struct AdmittedGpu {
  Gpu gpu;
  int64_t memory_cap_bytes = 0;
};

// The first GPU, where the guard lets it be measured. `sleep` waits for that many seconds.
//
// Errors: ListGpus()'s; kUnimplemented where the GPU is older than what kernels are made for;
// Guard's, and Refuse() "unreadable" where there is no NVML to ask.
absl::StatusOr<AdmittedGpu> AdmitFirstGpu(const CudaSystem& system,
                                          const std::function<void(double seconds)>& sleep);

// As Backend has them, on this host.
absl::StatusOr<std::vector<v1::Device>> CudaDevices();

// Errors: AdmitFirstGpu()'s, so that a refusal is told as one; then kUnimplemented, always.
absl::StatusOr<ProbePlan> CudaProbePlan();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_BACKEND_H_
