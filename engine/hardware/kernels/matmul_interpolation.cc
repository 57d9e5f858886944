#include "engine/hardware/kernels/matmul_interpolation.h"

#include <algorithm>

namespace sextant {
namespace {

struct Interval {
  size_t index;
  double share;
};

// The last node at or below each whole number, excluding the last node. Nodes are whole numbers,
// and a look-up is several times faster than a search with data-dependent branches.
template <size_t kCount>
constexpr auto IndexesOf(const std::array<double, kCount>& nodes) {
  std::array<unsigned char, 16> out = {};
  for (size_t whole = 0; whole < out.size(); ++whole) {
    unsigned char index = 0;
    while (index + size_t{2} < kCount && nodes[index + 1] <= static_cast<double>(whole)) ++index;
    out[whole] = index;
  }
  return out;
}

// The inverse distance from each node to the next.
template <size_t kCount>
constexpr auto InverseWidthsOf(const std::array<double, kCount>& nodes) {
  std::array<double, kCount - 1> out = {};
  for (size_t i = 0; i + 1 < kCount; ++i) out[i] = 1 / (nodes[i + 1] - nodes[i]);
  return out;
}

constexpr auto kRowIndexes = IndexesOf(kMatmulRowNodes);
constexpr auto kSizeIndexes = IndexesOf(kMatmulSizeNodes);
constexpr auto kRowInverses = InverseWidthsOf(kMatmulRowNodes);
constexpr auto kSizeInverses = InverseWidthsOf(kMatmulSizeNodes);

template <size_t kCount>
Interval IntervalOf(const std::array<double, kCount>& nodes,
                    const std::array<unsigned char, 16>& indexes,
                    const std::array<double, kCount - 1>& inverse_widths, double position) {
  const double at = std::clamp(position, nodes.front(), nodes.back());
  const size_t index = indexes[static_cast<size_t>(static_cast<int>(at))];
  return {index, (at - nodes[index]) * inverse_widths[index]};
}

double Between(double low, double high, double share) { return low + share * (high - low); }

}  // namespace

MatmulCell MatmulCellOf(const MatmulPosition& position) {
  const Interval m = IntervalOf(kMatmulRowNodes, kRowIndexes, kRowInverses, position[0]);
  const Interval n = IntervalOf(kMatmulSizeNodes, kSizeIndexes, kSizeInverses, position[1]);
  const Interval k = IntervalOf(kMatmulSizeNodes, kSizeIndexes, kSizeInverses, position[2]);
  return {m.index * kMatmulNodeStep[0] + n.index * kMatmulNodeStep[1] + k.index,
          {m.share, n.share, k.share}};
}

double MatmulInterpolated(const MatmulNodes& nodes, const MatmulCell& cell) {
  const auto along_k = [&](size_t at) { return Between(nodes[at], nodes[at + 1], cell.share[2]); };
  const auto along_n = [&](size_t at) {
    return Between(along_k(at), along_k(at + kMatmulNodeStep[1]), cell.share[1]);
  };
  return Between(along_n(cell.corner), along_n(cell.corner + kMatmulNodeStep[0]), cell.share[0]);
}

}  // namespace sextant
