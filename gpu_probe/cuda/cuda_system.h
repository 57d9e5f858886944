// The libraries of a host's GPU driver, where available, and the host's own information on the
// driver.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_SYSTEM_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_SYSTEM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/kernels.h"
#include "gpu_probe/cuda/nvml.h"

namespace sextant::probe {

// A host's information on its GPU driver from other sources than the driver.
struct CudaEnvironment {
  // CUDA_VISIBLE_DEVICES, which hides GPUs from CUDA but not from NVML; absent where it is not set.
  absl::optional<std::string> visible_devices = {};
  // A sign that CUDA work may share a GPU with other processes' (MPS), e.g. "a daemon listens on
  // /tmp/nvidia-mps/control"; "" without one.
  std::string mps_sign = {};
  // The version of the kernel's driver, e.g. "580.65.06"; "" where none is loaded, or none is
  // visible.
  std::string kernel_driver_version = {};
  // "NAME=value" of each variable that was set and would change the measurement, in printable ASCII
  // and cut to kMaxVariableBytes; in order of their names.
  std::vector<std::string> cleared_variables = {};
};

inline constexpr size_t kMaxVariableBytes = 120;
inline constexpr size_t kMaxVariables = 32;  // that are reported; all are cleared

// Reads the process's environment, and files below `root`, which is "" except in tests. Then clears
// the variables that change the measurement, and makes kernels load on first use. Call it before
// any of NVIDIA's libraries is loaded, and before other threads start.
CudaEnvironment TakeCudaEnvironment(const std::string& root);

// Makes only the GPU named `uuid` visible to CUDA. Call it before CUDA is started, while no other
// thread reads variables.
void ShowOnlyGpu(const std::string& uuid);

// The version in the text of /proc/driver/nvidia/version; "" without one.
std::string KernelDriverVersion(const std::string& text);

// The oldest CUDA version whose drivers run these images, e.g. 12000 for 12.0.
int OldestCuda(const std::vector<KernelImage>& images);

struct CudaSystem {
  absl::StatusOr<CudaDriver> driver;
  absl::StatusOr<Nvml> nvml;  // started
  CudaEnvironment environment;
  int oldest_cuda = OldestCuda(KernelImages());  // drivers of older versions are refused
};

// Opens the system with that environment. Loads two libraries, both part of the driver, and starts
// NVML, but not CUDA.
CudaSystem OpenCudaSystem(CudaEnvironment environment);

// Returns `nvml` after a successful init(). Errors: NvmlStatus()'s.
absl::StatusOr<Nvml> StartNvml(Nvml nvml);

// Checks for a driver that can run the probe, without starting CUDA.
//
// Errors: as StartCuda()'s.
absl::Status CheckCuda(const CudaSystem& system);

// Starts CUDA, which makes no context and takes no memory of a GPU.
//
// Errors: CudaStatus()'s, or Absent() with a word of cuda_fault.h, depending on what is known about
// the host.
absl::Status StartCuda(const CudaSystem& system);

// The CUDA version that the driver supports, e.g. 12040 for 12.4; 0 where it does not report it.
int SupportedCuda(const CudaDriver& driver);

// "12.4"
std::string CudaVersionText(int version);

// The driver's version, e.g. "580.65.06"; "" where it is not known.
std::string DriverVersion(const CudaSystem& system);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_SYSTEM_H_
