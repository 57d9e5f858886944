// What is lost to tiles: libraries cut the result into tiles, and multiprocessors take them in
// waves.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_TILES_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_TILES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/hardware/kernels/gemm_roofline.h"

namespace sextant {

inline constexpr size_t kGemmTileLossCount = 7;

// Shares of 0 to 1 that are lost, each for a tile that libraries use:
//   0..2  rows of the last tile that hold nothing, of tiles of 64, 128 and 256 rows:
//         1 - m / (tile ceil(m / tile))
//   3, 5  multiprocessors without a tile, where 128 x 256 and 128 x 128 tiles don't fill one wave:
//         1 - w with w = tiles / multiprocessors, if w < 1
//   4, 6  of the last of several waves: 1 - w / ceil(w), if w >= 1
// Each is weighted by the work's share of work and bytes: who waits for memory loses nothing.
// The tiles are those of cuBLAS and CUTLASS that decide (docs/kernels_gemm.md).
using GemmTileLosses = std::array<double, kGemmTileLossCount>;

// `work_share` is 0 to 1; `multiprocessors` is at least 1.
GemmTileLosses GemmTileLossesOf(const GemmSize& size, double multiprocessors, double work_share);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_TILES_H_
