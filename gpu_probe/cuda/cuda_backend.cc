#include "gpu_probe/cuda/cuda_backend.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/gpu_attention_points.h"
#include "gpu_probe/cuda/condition_watch.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/gpu_reading.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/guard.h"
#include "gpu_probe/cuda/kernels.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_points.h"
#include "gpu_probe/cuda/memory/memory_points.h"
#include "gpu_probe/cuda/memory/multiprocessors.h"
#include "gpu_probe/cuda/peers/peer_plan.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

void AddPoints(std::vector<Point> more, ProbePlan* plan) {
  for (Point& point : more) {
    if (point.assumed_preparation_seconds == 0) {
      point.assumed_preparation_seconds = kAssumedGpuPreparationSeconds;
    }
  }
  Append(std::move(more), &plan->points);
}

// Passes over memory. A phase is measured whole or not at all: half a ladder is useless.
std::vector<Point> WholePhases(std::vector<Point> points) {
  std::map<std::string, int> counts;
  for (const Point& point : points) ++counts[point.phase];
  for (Point& point : points) {
    point.level = kMemoryPasses;
    point.fewest_useful = counts[point.phase];
  }
  return points;
}

// False for short budgets: compiling attention's kernels would use up the time of the rest.
bool HasAttention(const ProbeOptions& options) {
  return options.mode == v1::PROBE_MODE_FULL || BudgetSecondsOf(options) >= kAttentionBudgetSeconds;
}

// Brings the GPU from its idle clock to its working clock, so that no point starts slower than it
// ends.
absl::Status Wake(const SharedSession& session, ProbePlan* plan) {
  SEXTANT_ASSIGN_OR_RETURN(const AwakeGpu awake, WakeUp(session));
  if (awake.steady) return absl::OkStatus();
  plan->notes.push_back(absl::StrFormat(
      "The clock of the GPU still changed, to %.0f MHz, after %s of work: the first "
      "figures may be too low.",
      awake.sm_clock_hertz / 1e6, text::TimeToThreeDigits(awake.seconds)));
  return absl::OkStatus();
}

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Makes the plan ask `guard` during the measurement and, at the end, add the environment to the
// calibration: the GPU's links then still run as under load.
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

// One host's driver, opened on first use.
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
  if (!exchanges) ShowOnlyGpu(options.device);  // useless where the choice had to start CUDA
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

absl::StatusOr<GpuLibraries> GpuLibraries::Load(const CudaLibrarySearch& search) {
  SEXTANT_ASSIGN_OR_RETURN(CublasLt cublaslt, LoadCublasLt(search));
  return GpuLibraries{.cublaslt = std::move(cublaslt), .cudnn = LoadCudnn(search)};
}

absl::StatusOr<ProbePlan> GpuPlan(const ProbeOptions& options, const SharedSession& session,
                                  const GpuLibraries& libraries) {
  ProbePlan plan;
  plan.device = session->device();
  plan.ending_seconds = kGpuEndingSeconds;
  if (!options.matmuls.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(plan.points, GpuRequestedMatmulPoints(options.mode, options.matmuls,
                                                                   session, libraries.cublaslt));
    SEXTANT_RETURN_IF_ERROR(Wake(session, &plan));
    return plan;
  }
  AddPoints(WholePhases(GpuMemoryPoints(options.mode, session)), &plan);
  AddPoints(GpuMatmulPoints(options.mode, session, libraries.cublaslt, &plan.notes), &plan);
  if (HasAttention(options)) {
    AddPoints(GpuAttentionPoints(options.mode, session, libraries.cudnn, &plan.notes), &plan);
  }
  plan.finish = SummariseGpuMemory;
  // After all libraries are loaded: the GPU would fall asleep again while they load.
  SEXTANT_RETURN_IF_ERROR(Wake(session, &plan));
  return plan;
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
          .is_plain_absence = IsNoDriver,
          .choices = [driver] { return driver->Choices(); }};
}

}  // namespace sextant::probe
