#include "gpu_probe/host/builtin_micro_kernels.h"

namespace sextant {
namespace {

// The tiles fill the level's registers (16, or 32 for AVX-512 and NEON): the tile's own vectors,
// two for a row of B's panel, and one for an element of A's where it can't be read from memory.
template <int kBytes, int kRows>
SEXTANT_INLINE_BODY void Tile(const float* a_panel, const float* b_panel, int64_t k, float* tile) {
  using Vector = typename VectorOf<float, kBytes>::Type;
  constexpr int kLanes = VectorOf<float, kBytes>::kLaneCount;
  Vector low[kRows] = {};
  Vector high[kRows] = {};
  for (int64_t p = 0; p < k; ++p) {
    const auto* const b = reinterpret_cast<const Vector*>(b_panel + p * 2 * kLanes);
    const float* const a = a_panel + p * kRows;
    const Vector b_low = b[0];
    const Vector b_high = b[1];
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) {
      low[r] += a[r] * b_low;
      high[r] += a[r] * b_high;
    }
  }
  auto* const to = reinterpret_cast<Vector*>(tile);
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    to[2 * r] = low[r];
    to[2 * r + 1] = high[r];
  }
}

constexpr int kBaseRows = kBaseHas32Registers ? 12 : 6;
constexpr int kAvx2Rows = 6;
constexpr int kAvx512Rows = 14;

void TileBase(const float* a_panel, const float* b_panel, int64_t k, float* tile) {
  Tile<kBaseBytes, kBaseRows>(a_panel, b_panel, k, tile);
}
SEXTANT_TARGET_AVX2 void TileAvx2(const float* a_panel, const float* b_panel, int64_t k,
                                  float* tile) {
  Tile<kAvx2Bytes, kAvx2Rows>(a_panel, b_panel, k, tile);
}
SEXTANT_TARGET_AVX512 void TileAvx512(const float* a_panel, const float* b_panel, int64_t k,
                                      float* tile) {
  Tile<kAvx512Bytes, kAvx512Rows>(a_panel, b_panel, k, tile);
}

}  // namespace

MicroKernel MicroKernelOf(SimdLevel level) {
  return KernelsByLevel<MicroKernel>{
      .base = {kBaseHas32Registers ? SEXTANT_BASE " 12x8" : SEXTANT_BASE " 6x8", kBaseRows, 8,
               TileBase},
      .avx2 = {"avx2 fma 6x16", kAvx2Rows, 16, TileAvx2},
      .avx512 = {"avx512f 14x32", kAvx512Rows, 32, TileAvx512}}
      .At(level);
}

}  // namespace sextant
