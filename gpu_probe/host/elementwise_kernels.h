// Multiply-adds on every element of an fp32 array, in place.
#ifndef SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_KERNELS_H_
#define SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_KERNELS_H_

#include <cstdint>

#include "gpu_probe/host/simd.h"

namespace sextant {

// x = a x + b, `step_count` times for each of `count` elements.
struct ElementwiseSpan {
  float* x = nullptr;
  int64_t count = 0;
  int64_t step_count = 0;
  float a = 0;
  float b = 0;
};

using ElementwiseKernel = void (*)(const ElementwiseSpan& span);

// The kernel for a level that this processor has. AVX2 and AVX-512 fuse multiplication and
// addition; SSE2 rounds twice.
ElementwiseKernel ElementwiseKernelOf(SimdLevel level);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_KERNELS_H_
