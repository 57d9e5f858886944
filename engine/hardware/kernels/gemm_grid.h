// A grid over the logarithms of m, n and k, on which a kernel's efficiency is interpolated.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_GRID_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_GRID_H_

#include <array>
#include <cstddef>

#include "engine/hardware/kernels/gemm_roofline.h"

namespace sextant {

// The nodes, in log2: where kernels change, whatever was measured. m of 1 is a vector's product, up
// to 64 the weights are read alone; n and k below 1024 or above 16384 are rare in models.
inline constexpr std::array<double, 10> kGemmRowNodes = {0, 4, 6, 7, 8, 9, 10, 11, 12, 13};
inline constexpr std::array<double, 5> kGemmSizeNodes = {10, 11, 12, 13, 14};
inline constexpr size_t kGemmNodeCount =
    kGemmRowNodes.size() * kGemmSizeNodes.size() * kGemmSizeNodes.size();

// log2 of m, n and k.
using GemmPosition = std::array<double, 3>;

inline GemmPosition GemmPositionOf(const GemmSize& size) {
  return {std::log2(size.m), std::log2(size.n), std::log2(size.k)};
}

// The cell that a position lies in, and where in it: a share of 0 is at its low corner. Positions
// outside of the grid are taken to its edge.
struct GemmCell {
  size_t corner = 0;  // the node of the lowest m, n and k
  std::array<double, 3> share = {};
};

GemmCell GemmCellOf(const GemmPosition& position);

// Nodes are numbered with m slowest and k fastest; the steps to the next along each.
inline constexpr std::array<size_t, 3> kGemmNodeStep = {
    kGemmSizeNodes.size() * kGemmSizeNodes.size(), kGemmSizeNodes.size(), 1};

// A value at each node.
using GemmNodes = std::array<double, kGemmNodeCount>;

// Linear in each of the three shares; continuous over the edges of cells.
double GemmInterpolated(const GemmNodes& nodes, const GemmCell& cell);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_GRID_H_
