#include "gpu_probe/cuda/gpu_plan.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/gpu_attention_points.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_points.h"
#include "gpu_probe/cuda/memory/memory_points.h"
#include "gpu_probe/cuda/memory/sm_clock.h"
#include "gpu_probe/figure_text.h"

namespace sextant {
namespace {

void Append(std::vector<Point> more, std::vector<Point>* points) {
  std::move(more.begin(), more.end(), std::back_inserter(*points));
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

absl::StatusOr<ProbePlan> GpuPlan(const ProbeOptions& options, const SharedSession& session,
                                  const CudaLibrarySearch& search) {
  ProbePlan plan;
  plan.device = session->device();
  SEXTANT_ASSIGN_OR_RETURN(const CublasLt cublaslt, LoadCublasLt(search));
  if (!options.matmuls.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(
        plan.points, GpuRequestedMatmulPoints(options.mode, options.matmuls, session, cublaslt));
    SEXTANT_RETURN_IF_ERROR(Wake(session, &plan));
    return plan;
  }
  Append(GpuMatmulPoints(options.mode, session, cublaslt, &plan.notes), &plan.points);
  Append(GpuMemoryPoints(options.mode, session), &plan.points);
  // Last: its kernels are compiled while the probe runs.
  if (options.mode != v1::PROBE_MODE_QUICK) {
    Append(GpuAttentionPoints(options.mode, session, LoadCudnn(search), &plan.notes), &plan.points);
  }
  plan.finish = SummariseGpuMemory;
  // Once all libraries are loaded: meanwhile the GPU would fall asleep again.
  SEXTANT_RETURN_IF_ERROR(Wake(session, &plan));
  return plan;
}

}  // namespace sextant
