#include "engine/hardware/kernels/gemm_tiles.h"

#include <cstdint>

namespace sextant {
namespace {

// std::ceil() of positive numbers, which is a call where the processor's instruction can't be taken
// for granted. Above 2^52 every double is whole.
double Ceil(double x) {
  if (x >= 4503599627370496.0) return x;
  const auto whole = static_cast<double>(static_cast<int64_t>(x));
  return whole + static_cast<double>(whole < x);
}

// Sizes of tiles are powers of two, so that the product is exact.
double TileCount(double size, double tile) { return Ceil(size * (1 / tile)); }

struct WaveLoss {
  double unfilled = 0;  // of a device that has tiles for less than a wave
  double last = 0;      // of the last wave
};

// Without branches, which shapes would mislead.
WaveLoss WaveLossOf(double tiles, double multiprocessors) {
  const double waves = tiles / multiprocessors;
  const double loss = 1 - waves / Ceil(waves);
  const auto few = static_cast<double>(waves < 1);
  return {.unfilled = few * loss, .last = (1 - few) * loss};
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
