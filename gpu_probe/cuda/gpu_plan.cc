#include "gpu_probe/cuda/gpu_plan.h"

#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/gpu_attention_points.h"

namespace sextant {

absl::StatusOr<ProbePlan> GpuPlan(const ProbeOptions& options, const SharedSession& session,
                                  const CudaLibrarySearch& search) {
  ProbePlan plan;
  plan.device = session->device();
  SEXTANT_ASSIGN_OR_RETURN(const CublasLt cublaslt, LoadCublasLt(search));
  (void)cublaslt;
  // Last: its kernels are compiled while the probe runs.
  if (options.matmuls.empty() && options.mode != v1::PROBE_MODE_QUICK) {
    std::vector<Point> attention =
        GpuAttentionPoints(options.mode, session, LoadCudnn(search), &plan.notes);
    plan.points.insert(plan.points.end(), std::make_move_iterator(attention.begin()),
                       std::make_move_iterator(attention.end()));
  }
  return plan;
}

}  // namespace sextant
