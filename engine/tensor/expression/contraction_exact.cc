// The best order of contraction by dynamic programming over subsets of the operands: a subset's
// result has the axes that the rest or the output needs, whatever the order in which it was
// made, so that the best order of a set is a best order of two parts of it and one step more.
// Source of the idea: Pfeifer, Haegeman, Verstraete, Phys. Rev. E 90, 033315 (2014).
#include <algorithm>
#include <limits>
#include <tuple>

#include "engine/tensor/expression/contraction_steps.h"

namespace sextant {
namespace {

// Of a subset; a mask has bit i for operand i.
struct Subset {
  AxisSet axes;
  bool fits = true;  // its result does not exceed 9.2e18 elements
  int64_t elements = 0;
  double flops = 0;
  int64_t largest = 0;      // intermediate on the way to it, itself left out
  uint32_t first_part = 0;  // 0 for a single operand
};

class Search {
 public:
  explicit Search(const Contraction& contraction)
      : contraction_(contraction), subsets_(size_t{1} << contraction.operands.size()) {
    const auto all = static_cast<uint32_t>(subsets_.size() - 1);
    std::vector<AxisSet> united(subsets_.size());
    for (uint32_t mask = 1; mask <= all; ++mask) {
      const auto lowest = static_cast<size_t>(__builtin_ctz(mask));
      united[mask] = united[mask & (mask - 1)] | contraction.operands[lowest];
    }
    for (uint32_t mask = 1; mask <= all; ++mask) {
      const bool is_operand = (mask & (mask - 1)) == 0;
      subsets_[mask].axes =
          is_operand ? united[mask] : united[mask] & (united[all & ~mask] | OutputSet(contraction));
      if (!is_operand) Split(mask);
    }
  }

  // Appends the pairs that make `mask`, and returns the number of their result.
  int Append(uint32_t mask, ContractionPairs& pairs) const {
    const uint32_t part = subsets_[mask].first_part;
    if (part == 0) return __builtin_ctz(mask);
    const int left = Append(part, pairs);
    const int right = Append(mask & ~part, pairs);
    pairs.push_back({left, right});
    return static_cast<int>(contraction_.operands.size() + pairs.size()) - 1;
  }

 private:
  // Finds the best two parts of `mask`. The first part has the lowest operand, so that each
  // pair of parts comes once.
  void Split(uint32_t mask) {
    Subset& subset = subsets_[mask];
    const absl::optional<int64_t> elements = ElementsOf(contraction_, subset.axes);
    subset.fits = elements.has_value();
    subset.elements = elements.value_or(0);
    subset.flops = std::numeric_limits<double>::infinity();
    if (!subset.fits) return;
    const uint32_t lowest = mask & (~mask + 1);
    for (uint32_t part = (mask - 1) & mask; part > 0; part = (part - 1) & mask) {
      if ((part & lowest) == 0) continue;
      const Subset& a = subsets_[part];
      const Subset& b = subsets_[mask & ~part];
      if (!a.fits || !b.fits) continue;
      const double flops =
          a.flops + b.flops + PairFlops(contraction_, a.axes | b.axes, subset.axes).value();
      const int64_t largest = std::max({a.largest, b.largest, a.elements, b.elements});
      if (subset.first_part == 0 ||
          std::tie(flops, largest) < std::tie(subset.flops, subset.largest)) {
        subset.flops = flops;
        subset.largest = largest;
        subset.first_part = part;
      }
    }
    subset.fits = subset.first_part != 0;
  }

  const Contraction& contraction_;
  std::vector<Subset> subsets_;
};

}  // namespace

ContractionPairs ExactPairs(const Contraction& contraction) {
  ContractionPairs pairs;
  const uint32_t all = (uint32_t{1} << contraction.operands.size()) - 1;
  Search(contraction).Append(all, pairs);
  return pairs;
}

}  // namespace sextant
