#include "gpu_probe/cuda/cuda_backend.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/guard.h"

namespace sextant {
namespace {

// Ampere's GA100: the first with bf16.
constexpr double kOldestComputeCapability = 8.0;

absl::Status CheckComputeCapability(const v1::Device& device) {
  double capability = 0;
  if (absl::SimpleAtod(device.compute_capability(), &capability) &&
      capability >= kOldestComputeCapability) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      device.uuid(), " (", device.product_name(), ") has compute capability ",
      device.compute_capability(), ", and GPUs are measured from 8.0 on: A100 and later"));
}

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

absl::StatusOr<AdmittedGpu> AdmitFirstGpu(const CudaSystem& system,
                                          const std::function<void(double seconds)>& sleep) {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Gpu> gpus, ListGpus(system));
  Gpu gpu = std::move(gpus.front());
  SEXTANT_RETURN_IF_ERROR(CheckComputeCapability(gpu.device));
  if (!system.nvml.ok()) {
    return Refuse(kUnreadable,
                  absl::StrCat("nobody can say whether ", gpu.device.uuid(),
                               " is in use: ", system.nvml.status().message(),
                               "; give this container the driver's capability \"utility\""));
  }
  Guard guard(*system.nvml, gpu.device.uuid(), system.environment.mps_sign, sleep);
  SEXTANT_ASSIGN_OR_RETURN(const int64_t cap_bytes, guard.Admit());
  return AdmittedGpu{.gpu = std::move(gpu), .memory_cap_bytes = cap_bytes};
}

absl::StatusOr<std::vector<v1::Device>> CudaDevices() {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Gpu> gpus, ListGpus(OpenCudaSystem()));
  std::vector<v1::Device> devices;
  for (Gpu& gpu : gpus) devices.push_back(std::move(gpu.device));
  return devices;
}

absl::StatusOr<ProbePlan> CudaProbePlan() {
  SEXTANT_ASSIGN_OR_RETURN(const AdmittedGpu admitted, AdmitFirstGpu(OpenCudaSystem(), SleepFor));
  return absl::UnimplementedError(
      absl::StrCat(admitted.gpu.device.uuid(),
                   " is idle and may be measured, but this version of sextant-probe has no "
                   "kernels for GPUs; --backend=host measures the processor"));
}

}  // namespace sextant
