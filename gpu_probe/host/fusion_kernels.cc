#include "gpu_probe/host/fusion_kernels.h"

namespace sextant {
namespace {

template <int kBytes>
using FloatsOf = typename VectorOf<float, kBytes>::Type;

template <int kBytes>
SEXTANT_INLINE_BODY void Activate(FloatsOf<kBytes>* y) {
  constexpr float kLinear = static_cast<float>(kActivationLinear);
  constexpr float kSquare = static_cast<float>(kActivationSquare);
  constexpr float kFourth = static_cast<float>(kActivationFourth);
  *y = *y * (kLinear + *y * (kSquare + kFourth * (*y * *y)));
}

// One row; `kPass` is known here, so that nothing is decided an element.
template <int kBytes, FusionPass kPass>
SEXTANT_INLINE_BODY void Row(const FusionSpan& span, int64_t first) {
  using Vector = FloatsOf<kBytes>;
  constexpr int64_t kVectors = kFusionChannelCount / VectorOf<float, kBytes>::kLaneCount;
  const auto* const x = reinterpret_cast<const Vector*>(span.x + first);
  const auto* const bias = reinterpret_cast<const Vector*>(span.bias);
  const auto* const residual = reinterpret_cast<const Vector*>(span.residual + first);
  auto* const to = reinterpret_cast<Vector*>(span.y + first);
  constexpr bool kAll = kPass == FusionPass::kAll;
  constexpr bool kFromX = kAll || kPass == FusionPass::kScale;
  for (int64_t i = 0; i < kVectors; ++i) {
    Vector y = kFromX ? span.scale * x[i] : to[i];
    if constexpr (kAll || kPass == FusionPass::kAddBias) y = y + bias[i];
    if constexpr (kAll || kPass == FusionPass::kActivate) Activate<kBytes>(&y);
    if constexpr (kAll || kPass == FusionPass::kAddResidual) y = y + residual[i];
    to[i] = y;
  }
}

template <int kBytes, FusionPass kPass>
SEXTANT_INLINE_BODY void Rows(const FusionSpan& span) {
  for (int64_t r = 0; r < span.row_count; ++r) Row<kBytes, kPass>(span, r * kFusionChannelCount);
}

template <int kBytes>
SEXTANT_INLINE_BODY void Pass(FusionPass pass, const FusionSpan& span) {
  switch (pass) {
    case FusionPass::kScale:
      return Rows<kBytes, FusionPass::kScale>(span);
    case FusionPass::kAddBias:
      return Rows<kBytes, FusionPass::kAddBias>(span);
    case FusionPass::kActivate:
      return Rows<kBytes, FusionPass::kActivate>(span);
    case FusionPass::kAddResidual:
      return Rows<kBytes, FusionPass::kAddResidual>(span);
    case FusionPass::kAll:
      return Rows<kBytes, FusionPass::kAll>(span);
  }
}

void PassBase(FusionPass pass, const FusionSpan& span) { Pass<kBaseBytes>(pass, span); }
SEXTANT_TARGET_AVX2 void PassAvx2(FusionPass pass, const FusionSpan& span) {
  Pass<kAvx2Bytes>(pass, span);
}
SEXTANT_TARGET_AVX512 void PassAvx512(FusionPass pass, const FusionSpan& span) {
  Pass<kAvx512Bytes>(pass, span);
}

}  // namespace

FusionKernel FusionKernelOf(SimdLevel level) {
  return KernelsByLevel<FusionKernel>{.base = PassBase, .avx2 = PassAvx2, .avx512 = PassAvx512}.At(
      level);
}

}  // namespace sextant
