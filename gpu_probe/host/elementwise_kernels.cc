#include "gpu_probe/host/elementwise_kernels.h"

namespace sextant {
namespace {

// Vectors in flight: enough that the additions' latency (4 cycles, 2 a cycle) is hidden, and
// few enough for the level's registers (16, or 32 for AVX-512 and NEON), two of which hold a and b.
constexpr int kFewPassChains = 12;
constexpr int kManyPassChains = 16;
constexpr int kBasePassChains = kBaseHas32Registers ? kManyPassChains : kFewPassChains;

template <int kBytes, int kChainCount>
SEXTANT_INLINE_BODY void Pass(const ElementwiseSpan& span) {
  using Vector = typename VectorOf<float, kBytes>::Type;
  constexpr int64_t kLanes = VectorOf<float, kBytes>::kLaneCount;
  constexpr int64_t kBlock = kChainCount * kLanes;
  const Vector a = span.a - Vector{};
  const Vector b = span.b - Vector{};
  int64_t i = 0;
  for (; i + kBlock <= span.count; i += kBlock) {
    Vector* const to = reinterpret_cast<Vector*>(span.x + i);
    Vector x[kChainCount];
#pragma GCC unroll 16
    for (int j = 0; j < kChainCount; ++j) x[j] = to[j];
    for (int64_t step = 0; step < span.step_count; ++step) {
#pragma GCC unroll 16
      for (int j = 0; j < kChainCount; ++j) x[j] = x[j] * a + b;
    }
#pragma GCC unroll 16
    for (int j = 0; j < kChainCount; ++j) to[j] = x[j];
  }
  for (; i < span.count; ++i) {
    for (int64_t step = 0; step < span.step_count; ++step) span.x[i] = span.x[i] * span.a + span.b;
  }
}

void PassBase(const ElementwiseSpan& span) { Pass<kBaseBytes, kBasePassChains>(span); }
SEXTANT_TARGET_AVX2 void PassAvx2(const ElementwiseSpan& span) {
  Pass<kAvx2Bytes, kFewPassChains>(span);
}
SEXTANT_TARGET_AVX512 void PassAvx512(const ElementwiseSpan& span) {
  Pass<kAvx512Bytes, kManyPassChains>(span);
}

}  // namespace

ElementwiseKernel ElementwiseKernelOf(SimdLevel level) {
  return KernelsByLevel<ElementwiseKernel>{.base = PassBase, .avx2 = PassAvx2, .avx512 = PassAvx512}
      .At(level);
}

}  // namespace sextant
