#include "gpu_probe/cuda/cuda_backend.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/cuda/absence.h"
#include "gpu_probe/cuda/condition_watch.h"
#include "gpu_probe/cuda/gpu_plan.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/kernel_images.h"
#include "gpu_probe/cuda/peers/peer_plan.h"

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

absl::StatusOr<AdmittedGpu> AdmitGpu(const CudaSystem& system, const std::string& uuid,
                                     const std::function<void(double seconds)>& sleep) {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Gpu> gpus, ListGpus(system));
  const auto named = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return uuid.empty() || gpu.device.uuid() == uuid;
  });
  if (named == gpus.end()) {
    return absl::NotFoundError(
        absl::StrCat("CUDA sees no GPU ", uuid, " any more; see sextant-probe --list"));
  }
  Gpu gpu = std::move(*named);
  SEXTANT_RETURN_IF_ERROR(CheckComputeCapability(gpu.device));
  if (!system.nvml.ok()) {
    return Refuse(kUnreadable,
                  absl::StrCat("nobody can say whether ", gpu.device.uuid(),
                               " is in use: ", system.nvml.status().message(),
                               "; give this container the driver's capability \"utility\""));
  }
  Guard guard(*system.nvml, gpu.device.uuid(), system.environment.mps_sign, sleep);
  SEXTANT_ASSIGN_OR_RETURN(const int64_t cap_bytes, guard.Admit());
  return AdmittedGpu{
      .gpu = std::move(gpu), .guard = std::move(guard), .memory_cap_bytes = cap_bytes};
}

absl::StatusOr<std::vector<v1::Device>> CudaDevices() {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Gpu> gpus, ListGpus(OpenCudaSystem()));
  std::vector<v1::Device> devices;
  for (Gpu& gpu : gpus) devices.push_back(std::move(gpu.device));
  return devices;
}

absl::Status CheckBuiltWithCuda() {
  if (!KernelImages().empty()) return absl::OkStatus();
  return Absent(kBuiltWithoutCuda,
                "this sextant-probe was built without CUDA, so that it has no kernels for GPUs; "
                "build it where nvcc is, or measure the processor with --backend=host");
}

absl::StatusOr<ProbePlan> CudaProbePlan(const ProbeOptions& options) {
  const CudaSystem system = OpenCudaSystem();
  SEXTANT_ASSIGN_OR_RETURN(AdmittedGpu admitted, AdmitGpu(system, options.device, SleepFor));
  SEXTANT_RETURN_IF_ERROR(CheckBuiltWithCuda());
  const int64_t cap_bytes = options.memory_cap_bytes > 0
                                ? std::min(options.memory_cap_bytes, admitted.memory_cap_bytes)
                                : admitted.memory_cap_bytes;
  SEXTANT_ASSIGN_OR_RETURN(const SharedSession session,
                           GpuSession::Open({.driver = *system.driver,
                                             .gpu = std::move(admitted.gpu),
                                             .memory_cap_bytes = cap_bytes,
                                             .holds = options.hold}));
  const CudaLibrarySearch search = {.folder = options.library_folder,
                                    .supported_cuda = SupportedCuda(*system.driver)};
  SEXTANT_ASSIGN_OR_RETURN(const GpuLibraries libraries, GpuLibraries::Load(search));
  SEXTANT_ASSIGN_OR_RETURN(ProbePlan plan, GpuPlan(options, session, libraries));
  plan.may_go_on = [session, guard = std::move(admitted.guard)] {
    return guard.MayGoOn(session->allocated_bytes());
  };
  if (options.mode == v1::PROBE_MODE_FULL && options.matmuls.empty()) {
    AddPeers({.system = system, .home = session, .search = search, .sleep = SleepFor}, &plan);
  }
  SEXTANT_RETURN_IF_ERROR(WatchConditions(*system.nvml, session, &plan));
  return plan;
}

}  // namespace sextant
