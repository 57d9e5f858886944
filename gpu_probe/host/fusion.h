// The chain of fusion_chain.h on a processor, in one pass an operation or in one fused pass, timed.
#ifndef SEXTANT_GPU_PROBE_HOST_FUSION_H_
#define SEXTANT_GPU_PROBE_HOST_FUSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_probe/fusion_chain.h"
#include "gpu_probe/host/array_workload.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// Both variants, on arrays of twice the last-level cache, so that each pass of the unfused chain
// reads from memory. Left out, with a note, where memory is too small.
std::vector<Point> FusionPoints(const SharedContext& context);

// Rows of kFusionChannelCount elements.
struct FusionSpan {
  const float* x = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  float* y = nullptr;
  int64_t row_count = 0;
  float scale = 0;
};

// The operation of one pass.
enum class FusionPass { kScale, kAddBias, kActivate, kAddResidual, kAll };

using FusionKernel = void (*)(FusionPass pass, const FusionSpan& span);

// The kernel for a level of this processor.
FusionKernel FusionKernelOf(SimdLevel level);

// Rows of kFusionChannelCount elements; all arrays but y start as normal numbers.
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

class FusionWorkload : public ArrayWorkload {
 public:
  FusionWorkload(FusionKernel kernel, bool fused, std::shared_ptr<FusionArrays> arrays,
                 SharedContext context);

 private:
  void PoisonPart(const Part& part) override;
  void RunPart(int index, const Part& part, int64_t times) override;
  // Compares y with the chain in double: the fused and the unfused chain round in different places.
  int64_t FirstWrong(const Part& part) const override;
  std::string Fault(int64_t element) const override;

  const FusionKernel kernel_;
  const bool fused_;
  const std::shared_ptr<FusionArrays> arrays_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_FUSION_H_
