// What a host says of its GPUs' driver beside the driver itself.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_ENVIRONMENT_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_ENVIRONMENT_H_

#include <string>

#include "absl/types/optional.h"

namespace sextant {

struct CudaEnvironment {
  // CUDA_VISIBLE_DEVICES, which hides GPUs from CUDA but not from NVML; absent where it is not set.
  absl::optional<std::string> visible_devices = {};
  // Why CUDA work may share a GPU with others' (MPS), e.g. "CUDA_MPS_PIPE_DIRECTORY is set"; ""
  // where nothing says so.
  std::string mps_sign = {};
  // Of the driver in the kernel, e.g. "580.65.06"; "" where none is loaded, or none can be seen.
  std::string kernel_driver_version = {};
};

// Reads the process's environment, and files below `root`, which is "" but in tests.
CudaEnvironment ReadCudaEnvironment(const std::string& root);

// The version in the text of /proc/driver/nvidia/version; "" where there is none.
std::string KernelDriverVersion(const std::string& text);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_ENVIRONMENT_H_
