// What a host says of its GPUs' driver beside the driver itself.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_ENVIRONMENT_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"

namespace sextant {

struct CudaEnvironment {
  // CUDA_VISIBLE_DEVICES, which hides GPUs from CUDA but not from NVML; absent where it is not set.
  absl::optional<std::string> visible_devices = {};
  // Why CUDA work may share a GPU with others' (MPS), e.g. "a daemon listens on
  // /tmp/nvidia-mps/control"; "" where nothing says so.
  std::string mps_sign = {};
  // Of the driver in the kernel, e.g. "580.65.06"; "" where none is loaded, or none can be seen.
  std::string kernel_driver_version = {};
  // "NAME=value" of each variable that was set and would change what is measured, in printable
  // ASCII and cut to kMostVariableBytes; in the order of their names.
  std::vector<std::string> cleared_variables = {};
};

inline constexpr size_t kMostVariableBytes = 120;
inline constexpr size_t kMostVariables = 32;  // that are told; all are cleared

// Reads the process's environment, and files below `root`, which is "" but in tests. Then clears
// the variables that change what is measured, and has kernels loaded when they are first used.
// Called before any of NVIDIA's libraries is loaded, and before there are other threads.
CudaEnvironment TakeCudaEnvironment(const std::string& root);

// Has CUDA see the GPU named `uuid` alone. Called before CUDA is started; other threads read no
// variables meanwhile.
void ShowOnlyGpu(const std::string& uuid);

// The version in the text of /proc/driver/nvidia/version; "" where there is none.
std::string KernelDriverVersion(const std::string& text);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_ENVIRONMENT_H_
