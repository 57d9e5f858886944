#include "engine/hardware/kernels/gemm_tiles.h"

#include <cmath>

namespace sextant {
namespace {

// Sizes of tiles are powers of two, so that the product is exact.
double TileCount(double size, double tile) { return std::ceil(size * (1 / tile)); }

struct WaveLoss {
  double unfilled = 0;  // of a device that has tiles for less than a wave
  double last = 0;      // of the last wave
};

WaveLoss WaveLossOf(double tiles, double multiprocessors) {
  const double waves = tiles / multiprocessors;
  if (waves < 1) return {.unfilled = 1 - waves};
  return {.last = 1 - waves / std::ceil(waves)};
}

}  // namespace

GemmTileLosses GemmTileLossesOf(const GemmSize& size, double multiprocessors, double work_share) {
  const double rows64 = TileCount(size.m, 64);
  const double rows128 = TileCount(size.m, 128);
  const double rows256 = TileCount(size.m, 256);
  const WaveLoss wide = WaveLossOf(rows128 * TileCount(size.n, 256), multiprocessors);
  const WaveLoss square = WaveLossOf(rows128 * TileCount(size.n, 128), multiprocessors);
  return {work_share * (1 - size.m / (64 * rows64)),
          work_share * (1 - size.m / (128 * rows128)),
          work_share * (1 - size.m / (256 * rows256)),
          work_share * wide.unfilled,
          work_share * wide.last,
          work_share * square.unfilled,
          work_share * square.last};
}

}  // namespace sextant
