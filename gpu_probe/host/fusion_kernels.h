// The chain of fusion_chain.h on a processor.
#ifndef SEXTANT_GPU_PROBE_HOST_FUSION_KERNELS_H_
#define SEXTANT_GPU_PROBE_HOST_FUSION_KERNELS_H_

#include <cstdint>

#include "gpu_probe/fusion_chain.h"
#include "gpu_probe/host/simd.h"

namespace sextant {

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
