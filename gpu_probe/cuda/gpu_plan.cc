#include "gpu_probe/cuda/gpu_plan.h"

#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/gpu_attention_points.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_points.h"
#include "gpu_probe/cuda/gpu_levels.h"
#include "gpu_probe/cuda/memory/memory_points.h"
#include "gpu_probe/cuda/memory/sm_clock.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/measure_device.h"

namespace sextant {
namespace {

void Append(std::vector<Point> more, std::vector<Point>* points) {
  for (Point& point : more) {
    if (point.assumed_preparation_seconds == 0) {
      point.assumed_preparation_seconds = kAssumedGpuPreparationSeconds;
    }
  }
  std::move(more.begin(), more.end(), std::back_inserter(*points));
}

// Passes over memory, a phase whole or not at all: half a ladder tells nothing.
std::vector<Point> WholePhases(std::vector<Point> points) {
  std::map<std::string, int> counts;
  for (const Point& point : points) ++counts[point.phase];
  for (Point& point : points) {
    point.level = kMemoryPasses;
    point.fewest_useful = counts[point.phase];
  }
  return points;
}

// Compiling attention's kernels would take what the rest of a short budget needs.
bool HasAttention(const ProbeOptions& options) {
  return options.mode == v1::PROBE_MODE_FULL || BudgetSecondsOf(options) >= kAttentionBudgetSeconds;
}

// Brings the GPU from its idle clock to that at work, so that no point begins slower than it ends.
absl::Status Wake(const SharedSession& session, ProbePlan* plan) {
  SEXTANT_ASSIGN_OR_RETURN(const AwakeGpu awake, WakeUp(session));
  if (awake.steady) return absl::OkStatus();
  plan->notes.push_back(absl::StrFormat(
      "The clock of the GPU still changed, to %.0f MHz, after %s of work: the first "
      "figures may be too low.",
      awake.sm_clock_hertz / 1e6, SecondsText(awake.seconds)));
  return absl::OkStatus();
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
  Append(WholePhases(GpuMemoryPoints(options.mode, session)), &plan.points);
  Append(GpuMatmulPoints(options.mode, session, libraries.cublaslt, &plan.notes), &plan.points);
  if (HasAttention(options)) {
    Append(GpuAttentionPoints(options.mode, session, libraries.cudnn, &plan.notes), &plan.points);
  }
  plan.finish = SummariseGpuMemory;
  // Once all libraries are loaded: meanwhile the GPU would fall asleep again.
  SEXTANT_RETURN_IF_ERROR(Wake(session, &plan));
  return plan;
}

}  // namespace sextant
