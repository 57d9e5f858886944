// A grid over the logarithms of m, n and k, on which a kernel's efficiency is interpolated.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_INTERPOLATION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_INTERPOLATION_H_

#include <array>
#include <cstddef>

#include "engine/hardware/kernels/matmul_roofline.h"

namespace sextant {

// The nodes, in log2, at sizes where kernels change, independent of the measured shapes. m of 1 is
// a vector product; up to 64 reading the weights dominates; n and k below 1024 or above 16384 are
// rare in models.
inline constexpr std::array<double, 10> kMatmulRowNodes = {0, 4, 6, 7, 8, 9, 10, 11, 12, 13};
inline constexpr std::array<double, 5> kMatmulSizeNodes = {10, 11, 12, 13, 14};
inline constexpr size_t kMatmulNodeCount =
    kMatmulRowNodes.size() * kMatmulSizeNodes.size() * kMatmulSizeNodes.size();

// log2 of m, n and k.
using MatmulPosition = std::array<double, 3>;

inline MatmulPosition MatmulPositionOf(const MatmulDimensions& size) {
  return {std::log2(size.m), std::log2(size.n), std::log2(size.k)};
}

// The cell that contains a position, and the position within it: a share of 0 is the low corner.
// Positions outside the grid are clamped to its edge.
struct MatmulCell {
  size_t corner = 0;  // the node of the lowest m, n and k
  std::array<double, 3> share = {};
};

MatmulCell MatmulCellOf(const MatmulPosition& position);

// Nodes are numbered with m slowest and k fastest. The step to the next node along each axis.
inline constexpr std::array<size_t, 3> kMatmulNodeStep = {
    kMatmulSizeNodes.size() * kMatmulSizeNodes.size(), kMatmulSizeNodes.size(), 1};

// A value at each node.
using MatmulNodes = std::array<double, kMatmulNodeCount>;

// Linear in each of the three shares; continuous across cell edges.
double MatmulInterpolated(const MatmulNodes& nodes, const MatmulCell& cell);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_INTERPOLATION_H_
