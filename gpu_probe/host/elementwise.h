// Elementwise work on a processor, timed: the ladder of multiply-adds on every element of an fp32
// array, in place, and the chain of fusion_chain.h, in one pass an operation or in one fused pass.
#ifndef SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_H_
#define SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_probe/fusion_chain.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// 1, 2, 4 and so on to 128 multiply-adds an element, on an array that exceeds all caches. Left out,
// with a note, where memory is too small.
std::vector<Point> ElementwisePoints(const SharedContext& context);

// The ends of the ladder, from which the ridge is computed.
inline constexpr int64_t kMinMultiplyAdds = 1;
inline constexpr int64_t kMaxMultiplyAdds = 128;

// x = a x + b, `step_count` times for each of `count` elements.
struct ElementwiseSpan {
  float* x = nullptr;
  int64_t count = 0;
  int64_t step_count = 0;
  float a = 0;
  float b = 0;
};

using ElementwiseKernel = void (*)(const ElementwiseSpan& span);

// The kernel for a level of this processor. AVX2 and AVX-512 fuse multiplication and addition; SSE2
// rounds twice.
ElementwiseKernel ElementwiseKernelOf(SimdLevel level);

// An fp32 array that starts as normal numbers, and the pattern that generated them.
struct ElementwiseArray {
  Buffer x;
  int64_t count = 0;
  RepeatingPattern<float> pattern = NormalPattern();

  // Errors: kResourceExhausted.
  static absl::StatusOr<std::shared_ptr<ElementwiseArray>> Create(int64_t count,
                                                                  const HostContext& context);
};

struct ElementwiseRun {
  ElementwiseKernel kernel = nullptr;
  int64_t step_count = 1;
  int64_t segment_count = 1;
};

class ElementwiseWorkload : public ArrayWorkload {
 public:
  ElementwiseWorkload(const ElementwiseRun& run, std::shared_ptr<ElementwiseArray> array,
                      SharedContext context);

 private:
  // Restores the initial numbers, so that an element that no pass changes is detected.
  void PoisonPart(const Part& part) override;
  void RunPart(int index, const Part& part, int64_t times) override;
  // Compares with x_n = f + (x_0 - f) a^n, f = b / (1 - a), in double.
  int64_t FirstWrong(const Part& part) const override;
  std::string Fault(int64_t element) const override;

  const ElementwiseRun run_;
  const std::shared_ptr<ElementwiseArray> array_;
};

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

#endif  // SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_H_
