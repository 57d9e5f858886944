#include "gpu_probe/cuda/gpu_plan.h"

#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"

namespace sextant {

absl::StatusOr<ProbePlan> GpuPlan(const ProbeOptions& options, const SharedSession& session,
                                  const CudaLibrarySearch& search) {
  ProbePlan plan;
  plan.device = session->device();
  SEXTANT_ASSIGN_OR_RETURN(const CublasLt cublaslt, LoadCublasLt(search));
  (void)cublaslt;
  (void)options;
  return plan;
}

}  // namespace sextant
