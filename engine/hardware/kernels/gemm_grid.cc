#include "engine/hardware/kernels/gemm_grid.h"

#include <algorithm>

namespace sextant {
namespace {

struct Interval {
  size_t index;
  double share;
};

template <size_t kCount>
Interval IntervalOf(const std::array<double, kCount>& nodes, double position) {
  size_t index = 0;
  while (index + 2 < kCount && position >= nodes[index + 1]) ++index;
  const double share = (position - nodes[index]) / (nodes[index + 1] - nodes[index]);
  return {index, std::clamp(share, 0.0, 1.0)};
}

double Between(double low, double high, double share) { return low + share * (high - low); }

}  // namespace

GemmCell GemmCellOf(const GemmPosition& position) {
  const Interval m = IntervalOf(kGemmRowNodes, position[0]);
  const Interval n = IntervalOf(kGemmSizeNodes, position[1]);
  const Interval k = IntervalOf(kGemmSizeNodes, position[2]);
  return {m.index * kGemmNodeStep[0] + n.index * kGemmNodeStep[1] + k.index,
          {m.share, n.share, k.share}};
}

double GemmInterpolated(const GemmNodes& nodes, const GemmCell& cell) {
  const auto along_k = [&](size_t at) { return Between(nodes[at], nodes[at + 1], cell.share[2]); };
  const auto along_n = [&](size_t at) {
    return Between(along_k(at), along_k(at + kGemmNodeStep[1]), cell.share[1]);
  };
  return Between(along_n(cell.corner), along_n(cell.corner + kGemmNodeStep[0]), cell.share[0]);
}

}  // namespace sextant
