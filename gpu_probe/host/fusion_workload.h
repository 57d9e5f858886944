// The chain of elementwise operations, one pass an operation or one for all, timed.
#ifndef SEXTANT_GPU_PROBE_HOST_FUSION_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_HOST_FUSION_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_probe/host/fusion_kernels.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/repeating_pattern.h"
#include "gpu_probe/workload.h"

namespace sextant {

// Rows of kFusionChannelCount elements, all of normal numbers but y.
struct FusionArrays {
  Buffer x;
  Buffer residual;
  Buffer y;
  std::vector<float> bias;
  int64_t row_count = 0;
  RepeatingPattern<float> pattern = NormalPattern();

  // Errors: kResourceExhausted.
  static absl::StatusOr<std::shared_ptr<FusionArrays>> Create(int64_t row_count,
                                                              const HostContext& context);
};

class FusionWorkload : public Workload {
 public:
  FusionWorkload(FusionKernel kernel, bool fused, std::shared_ptr<FusionArrays> arrays,
                 SharedContext context);

  void Poison() override;
  absl::Status Run(int64_t repetition_count) override;
  // Compares y with the chain in double: fused and not, it rounds at different places.
  absl::Status Check() override;

 private:
  Part RowsOfThread(int index) const;
  FusionSpan SpanOf(const Part& rows) const;
  // The first wrong element of a row; -1 where all are right.
  int64_t FirstWrongOfRow(int64_t row) const;

  const SharedContext context_;  // first, so that it outlives the arrays
  const FusionKernel kernel_;
  const bool fused_;
  const std::shared_ptr<FusionArrays> arrays_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_FUSION_WORKLOAD_H_
