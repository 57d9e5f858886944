#include "gpu_probe/cuda/cuda_backend.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/cuda/absence.h"
#include "gpu_probe/cuda/condition_watch.h"
#include "gpu_probe/cuda/gpu_environment.h"
#include "gpu_probe/cuda/gpu_plan.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/kernel_images.h"
#include "gpu_probe/cuda/peers/peer_plan.h"

namespace sextant {
namespace {

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Has `guard` asked while `plan` is measured, and the environment put into the calibration: at the
// end, when the GPU's links still run as they did under load.
void AddGuard(const CudaSystem& system, const SharedSession& session, Guard guard,
              ProbePlan* plan) {
  const auto asked = std::make_shared<Guard>(std::move(guard));
  plan->may_go_on = [session, asked] { return asked->MayGoOn(session->allocated_bytes()); };
  plan->finish = [nvml = *system.nvml, variables = system.environment.cleared_variables, session,
                  asked, finish = std::move(plan->finish)](v1::Calibration* out) {
    if (finish) finish(out);
    v1::MeasurementEnvironment* const environment = out->mutable_environment();
    DescribeLinksAndLimits(nvml, session->device().uuid(), environment);
    int visible_count = 0;
    if (session->driver().device_count(&visible_count) == 0 && visible_count > 0) {
      environment->set_visible_device_count(visible_count);
    }
    for (const std::string& variable : variables) environment->add_cleared_variables(variable);
    v1::GuardCost* const cost = environment->mutable_guard_cost();
    cost->set_reading_count(asked->cost().reading_count);
    cost->set_total_seconds(asked->cost().total_seconds);
    cost->set_longest_seconds(asked->cost().longest_seconds);
  };
}

// Errors: Absent() "built_without_cuda".
absl::Status CheckBuiltWithCuda() {
  if (!KernelImages().empty()) return absl::OkStatus();
  return Absent(kBuiltWithoutCuda,
                "this sextant-probe was built without CUDA, so that it has no kernels for GPUs; "
                "build it where nvcc is, or measure the processor with --backend=host");
}

// One host's driver, opened when it is first needed.
class HostDriver {
 public:
  explicit HostDriver(CudaEnvironment environment) : environment_(std::move(environment)) {}

  const CudaSystem& System() {
    if (!system_) system_.emplace(OpenCudaSystem(environment_));
    return *system_;
  }

  absl::StatusOr<std::vector<v1::Device>> Devices() {
    SEXTANT_ASSIGN_OR_RETURN(std::vector<Gpu> gpus, ListGpus(System()));
    std::vector<v1::Device> devices;
    for (Gpu& gpu : gpus) devices.push_back(std::move(gpu.device));
    return devices;
  }

  absl::StatusOr<std::vector<v1::Device>> Choices() {
    SEXTANT_RETURN_IF_ERROR(CheckCuda(System()));
    const auto uuids = UuidsByNvml(System());
    if (!uuids) return Devices();
    std::vector<v1::Device> devices(uuids->size());
    for (size_t i = 0; i < devices.size(); ++i) {
      devices[i].set_kind(v1::DEVICE_KIND_GPU);
      devices[i].set_uuid((*uuids)[i]);
    }
    return devices;
  }

 private:
  const CudaEnvironment environment_;
  absl::optional<CudaSystem> system_;
};

absl::StatusOr<ProbePlan> PlanOf(const CudaSystem& system, const ProbeOptions& options,
                                 const PhaseSink& on_phase) {
  on_phase("guard");
  SEXTANT_ASSIGN_OR_RETURN(Admission admission, AdmitGpu(system, options.device, SleepFor));
  const bool exchanges = options.mode == v1::PROBE_MODE_FULL && options.matmuls.empty();
  on_phase("CUDA");
  if (!exchanges) ShowOnlyGpu(options.device);  // for nothing where the choice had to start CUDA
  SEXTANT_ASSIGN_OR_RETURN(Gpu gpu, FindGpu(system, options.device));
  SEXTANT_RETURN_IF_ERROR(CheckBuiltWithCuda());
  const int64_t cap_bytes = options.memory_cap_bytes > 0
                                ? std::min(options.memory_cap_bytes, admission.memory_cap_bytes)
                                : admission.memory_cap_bytes;
  SEXTANT_ASSIGN_OR_RETURN(const SharedSession session,
                           GpuSession::Open({.driver = *system.driver,
                                             .gpu = std::move(gpu),
                                             .memory_cap_bytes = cap_bytes,
                                             .holds = options.hold}));
  on_phase("libraries");
  const CudaLibrarySearch search = {.folder = options.library_folder,
                                    .supported_cuda = SupportedCuda(*system.driver)};
  SEXTANT_ASSIGN_OR_RETURN(const GpuLibraries libraries, GpuLibraries::Load(search));
  on_phase("wake");
  SEXTANT_ASSIGN_OR_RETURN(ProbePlan plan, GpuPlan(options, session, libraries));
  AddGuard(system, session, std::move(admission.guard), &plan);
  if (exchanges) {
    AddPeers({.system = system, .home = session, .search = search, .sleep = SleepFor}, &plan);
  }
  SEXTANT_RETURN_IF_ERROR(WatchConditions(*system.nvml, session, &plan));
  return plan;
}

}  // namespace

absl::StatusOr<Admission> AdmitGpu(const CudaSystem& system, const std::string& uuid,
                                   const std::function<void(double seconds)>& sleep) {
  if (!system.nvml.ok()) {
    return Refuse(kUnreadable,
                  absl::StrCat("nobody can say whether ", uuid,
                               " is in use: ", system.nvml.status().message(),
                               "; give this container the driver's capability \"utility\""));
  }
  Guard guard({.nvml = *system.nvml,
               .uuid = uuid,
               .mps_sign = system.environment.mps_sign,
               .sleep = sleep});
  SEXTANT_ASSIGN_OR_RETURN(const int64_t cap_bytes, guard.Admit());
  return Admission{.guard = std::move(guard), .memory_cap_bytes = cap_bytes};
}

absl::StatusOr<Gpu> FindGpu(const CudaSystem& system, const std::string& uuid) {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Gpu> gpus, ListGpus(system));
  const auto named = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const Gpu& gpu) { return gpu.device.uuid() == uuid; });
  if (named == gpus.end()) {
    return absl::NotFoundError(
        absl::StrCat("CUDA sees no GPU ", uuid, " any more; see sextant-probe --list"));
  }
  SEXTANT_RETURN_IF_ERROR(CheckComputeCapability(named->device));
  return std::move(*named);
}

Backend CudaBackend() {
  const auto driver = std::make_shared<HostDriver>(TakeCudaEnvironment(""));
  return {.name = "cuda",
          .devices = [driver] { return driver->Devices(); },
          .plan =
              [driver](const ProbeOptions& options, const PhaseSink& on_phase) {
                return PlanOf(driver->System(), options, on_phase);
              },
          .can_measure = CheckBuiltWithCuda,
          .is_plain_absence = IsPlainlyAbsent,
          .choices = [driver] { return driver->Choices(); }};
}

}  // namespace sextant
