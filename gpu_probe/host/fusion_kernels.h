// A chain of elementwise operations on fp32 rows, as the end of a model's layer has them:
//   1. y = s x            2. y = y + bias[channel]
//   3. y = g(y)           4. y = y + residual
// g(y) = y (0.5 + y (0.39894228 - 0.06649038 y^2)): GELU's first terms of Taylor's series.
#ifndef SEXTANT_GPU_PROBE_HOST_FUSION_KERNELS_H_
#define SEXTANT_GPU_PROBE_HOST_FUSION_KERNELS_H_

#include <cstdint>

#include "gpu_probe/host/simd.h"

namespace sextant {

inline constexpr int kFusionOperationCount = 4;
inline constexpr int64_t kFusionChannelCount = 1024;
inline constexpr double kActivationLinear = 0.5;
inline constexpr double kActivationSquare = 0.39894228;
inline constexpr double kActivationFourth = -0.06649038;

// Rows of kFusionChannelCount elements.
struct FusionSpan {
  const float* x = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  float* y = nullptr;
  int64_t row_count = 0;
  float scale = 0;
};

// What one pass does.
enum class FusionPass { kScale, kAddBias, kActivate, kAddResidual, kAll };

using FusionKernel = void (*)(FusionPass pass, const FusionSpan& span);

// The kernel for a level that this processor has.
FusionKernel FusionKernelOf(SimdLevel level);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_FUSION_KERNELS_H_
