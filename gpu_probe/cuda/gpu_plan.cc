#include "gpu_probe/cuda/gpu_plan.h"

#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_points.h"

namespace sextant {
namespace {

void Append(std::vector<Point> more, std::vector<Point>* points) {
  std::move(more.begin(), more.end(), std::back_inserter(*points));
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
    return plan;
  }
  Append(GpuMatmulPoints(options.mode, session, cublaslt, &plan.notes), &plan.points);
  return plan;
}

}  // namespace sextant
