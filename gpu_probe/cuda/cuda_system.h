// The libraries of a host's GPU driver, as far as they are there.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_SYSTEM_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_SYSTEM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/cuda_environment.h"
#include "gpu_probe/cuda/kernel_images.h"
#include "gpu_probe/cuda/nvml.h"

namespace sextant {

// The oldest CUDA whose drivers the probe runs on where these are its kernels, e.g. 12000 for 12.0.
int OldestCuda(const std::vector<KernelImage>& images);

struct CudaSystem {
  absl::StatusOr<CudaDriver> driver;
  absl::StatusOr<Nvml> nvml;  // started
  CudaEnvironment environment;
  int oldest_cuda = OldestCuda(KernelImages());  // a driver of an older one is turned away
};

// This host's, of that environment. Loads two libraries, both of the driver, and starts NVML, but
// not CUDA.
CudaSystem OpenCudaSystem(CudaEnvironment environment);

// `nvml` once its init() said yes. Errors: NvmlStatus()'s.
absl::StatusOr<Nvml> StartNvml(Nvml nvml);

// Looks for a driver that can run the probe, without starting CUDA.
//
// Errors: as StartCuda()'s.
absl::Status CheckCuda(const CudaSystem& system);

// Starts CUDA, which makes no context and takes no memory of a GPU.
//
// Errors: those of CudaStatus(), or Absent() with a word of absence.h: what is known of the host
// decides which.
absl::Status StartCuda(const CudaSystem& system);

// The CUDA that the driver supports, e.g. 12040 for 12.4; 0 where it does not tell.
int SupportedCuda(const CudaDriver& driver);

// "12.4"
std::string CudaVersionText(int version);

// Of the driver, e.g. "580.65.06"; "" where nobody tells.
std::string DriverVersion(const CudaSystem& system);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_SYSTEM_H_
