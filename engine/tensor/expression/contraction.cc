#include "engine/tensor/expression/contraction.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"

namespace sextant {
namespace {

// The pair of each step, numbered as in ContractionStep.
using ContractionPairs = std::vector<std::pair<int, int>>;

template <typename Visit>
void ForEach(const AxisSet& axes, Visit visit) {
  for (size_t i = axes._Find_first(); i < axes.size(); i = axes._Find_next(i)) visit(i);
}

std::string AxesText(const Contraction& contraction, const AxisSet& axes) {
  std::vector<absl::string_view> names;
  ForEach(axes, [&](size_t i) { names.push_back(contraction.axes[i].name); });
  return absl::StrJoin(names, " ");
}

AxisSet OutputSet(const Contraction& contraction) {
  AxisSet output;
  for (const int i : contraction.output) output.set(static_cast<size_t>(i));
  return output;
}

std::string OutputText(const Contraction& contraction) {
  std::vector<absl::string_view> names;
  for (const int i : contraction.output) {
    names.push_back(contraction.axes[static_cast<size_t>(i)].name);
  }
  return absl::StrJoin(names, " ");
}

// The product of the sizes of `axes`; absent where it exceeds 9.2e18.
absl::optional<int64_t> ElementsOf(const Contraction& contraction, const AxisSet& axes) {
  CheckedInt count = 1;
  ForEach(axes, [&](size_t i) { count = count * contraction.axes[i].size; });
  if (!count.ok()) return absl::nullopt;
  return count.value();
}

double Product(const Contraction& contraction, const AxisSet& axes) {
  double product = 1;
  ForEach(axes, [&](size_t i) { product *= static_cast<double>(contraction.axes[i].size); });
  return product;
}

// FLOPs of a step on two tensors with the axes `all`, whose result has the axes `kept`.
Flops PairFlops(const Contraction& contraction, const AxisSet& all, const AxisSet& kept) {
  return Flops(Product(contraction, all) * (all == kept ? 1 : 2));
}

// The order described by `pairs`, computed step by step; absent where an intermediate exceeds
// 9.2e18 elements. (Below that a step's FLOPs are less than 2 x 9.2e18 squared, which fits a
// double.)
absl::optional<ContractionOrder> OrderOf(const Contraction& contraction,
                                         const ContractionPairs& pairs) {
  std::vector<AxisSet> tensors = contraction.operands;
  std::vector<bool> waits(tensors.size(), true);
  const AxisSet output = OutputSet(contraction);
  ContractionOrder order;
  for (const auto& [left, right] : pairs) {
    const auto a = static_cast<size_t>(left);
    const auto b = static_cast<size_t>(right);
    waits[a] = waits[b] = false;
    AxisSet needed = output;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (waits[i]) needed |= tensors[i];
    }
    const AxisSet all = tensors[a] | tensors[b];
    const AxisSet kept = all & needed;
    const absl::optional<int64_t> elements = ElementsOf(contraction, kept);
    if (!elements.has_value()) return absl::nullopt;
    const bool is_last = order.steps.size() + 1 == pairs.size();
    order.steps.push_back({.left = left,
                           .right = right,
                           .axes = is_last ? OutputText(contraction) : AxesText(contraction, kept),
                           .axis_set = kept,
                           .result_elements = *elements,
                           .sums = all != kept,
                           .flops = PairFlops(contraction, all, kept)});
    order.flops = order.flops + order.steps.back().flops;
    if (!is_last) {
      order.largest_intermediate_elements =
          std::max(order.largest_intermediate_elements, *elements);
    }
    tensors.push_back(kept);
    waits.push_back(true);
  }
  return order;
}

// A single operand: nothing to multiply.
ContractionOrder OneStep(const Contraction& contraction) {
  const AxisSet output = OutputSet(contraction);
  ContractionStep step = {.left = 0, .axes = OutputText(contraction)};
  step.axis_set = output;
  step.result_elements = ElementsOf(contraction, output).value_or(0);
  step.sums = contraction.operands[0] != output;
  if (step.sums) step.flops = Flops(Product(contraction, contraction.operands[0]));
  return {.steps = {step}, .flops = step.flops};
}

// The best order of contraction by dynamic programming over subsets of the operands. A subset's
// result has the axes that the rest or the output needs, independent of the order in which it was
// made, so the best order of a set consists of best orders of two parts and one more step. Source
// of the idea: Pfeifer, Haegeman, Verstraete, Phys. Rev. E 90, 033315 (2014).

// The best way to contract a subset; a mask has bit i for operand i.
struct Subset {
  AxisSet axes;
  bool fits = true;  // its result has at most 9.2e18 elements
  int64_t elements = 0;
  double flops = 0;
  int64_t largest = 0;      // intermediate on the way, excluding its own result
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
  // Finds the best two parts of `mask`. The first part contains the lowest operand, so that each
  // pair of parts is tried once.
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

// The best order of all, for 2 to kMaxExactOperands operands.
ContractionPairs ExactPairs(const Contraction& contraction) {
  ContractionPairs pairs;
  const uint32_t all = (uint32_t{1} << contraction.operands.size()) - 1;
  Search(contraction).Append(all, pairs);
  return pairs;
}

// A contraction order for many operands, where trying all orders takes too long.

struct Waiting {
  int number;
  AxisSet axes;
  int64_t elements;
};

// Two of the waiting tensors, by index.
struct Pair {
  size_t a;
  size_t b;
  double growth;  // elements of the result minus those of the two
  Flops flops;
  Waiting result;
};

class Greedy {
 public:
  explicit Greedy(const Contraction& contraction)
      : contraction_(contraction), next_(static_cast<int>(contraction.operands.size())) {
    for (size_t i = 0; i < contraction.operands.size(); ++i) {
      waiting_.push_back({static_cast<int>(i), contraction.operands[i],
                          ElementsOf(contraction, contraction.operands[i]).value_or(0)});
    }
  }

  ContractionPairs Pairs() {
    ContractionPairs pairs;
    while (waiting_.size() > 1) {
      const absl::optional<Pair> best = BestPair();
      if (!best.has_value()) return {};
      pairs.push_back({waiting_[best->a].number, waiting_[best->b].number});
      waiting_[best->a] = best->result;
      waiting_.erase(waiting_.begin() + static_cast<int64_t>(best->b));
      ++next_;
    }
    return pairs;
  }

 private:
  // The axes used by at least `times` of the waiting tensors and the output.
  AxisSet UsedAtLeast(int times) const {
    std::vector<int> uses(contraction_.axes.size(), 0);
    for (const int i : contraction_.output) ++uses[static_cast<size_t>(i)];
    for (const Waiting& w : waiting_) {
      for (size_t i = 0; i < uses.size(); ++i) uses[i] += w.axes[i] ? 1 : 0;
    }
    AxisSet out;
    for (size_t i = 0; i < uses.size(); ++i) out[i] = uses[i] >= times;
    return out;
  }

  // The pair whose result grows least; on ties the one with fewer FLOPs, then the first. The
  // result drops axes that only the pair has.
  absl::optional<Pair> BestPair() const {
    const AxisSet twice = UsedAtLeast(2);
    const AxisSet thrice = UsedAtLeast(3);
    absl::optional<Pair> best;
    for (size_t a = 0; a < waiting_.size(); ++a) {
      for (size_t b = a + 1; b < waiting_.size(); ++b) {
        const AxisSet shared = waiting_[a].axes & waiting_[b].axes;
        const AxisSet all = waiting_[a].axes | waiting_[b].axes;
        const AxisSet kept = (shared & thrice) | (all & ~shared & twice);
        const absl::optional<int64_t> elements = ElementsOf(contraction_, kept);
        if (!elements.has_value()) continue;
        const double growth = static_cast<double>(*elements) -
                              static_cast<double>(waiting_[a].elements) -
                              static_cast<double>(waiting_[b].elements);
        const Pair pair = {
            a, b, growth, PairFlops(contraction_, all, kept), {next_, kept, *elements}};
        if (!best.has_value() ||
            std::tie(pair.growth, pair.flops) < std::tie(best->growth, best->flops)) {
          best = pair;
        }
      }
    }
    return best;
  }

  const Contraction& contraction_;
  int next_;
  std::vector<Waiting> waiting_;
};

// As OrderSearch::kGreedy; empty where every pair's result is too large.
ContractionPairs GreedyPairs(const Contraction& contraction) { return Greedy(contraction).Pairs(); }

bool IsExact(const Contraction& contraction) {
  return contraction.operands.size() <= kMaxExactOperands;
}

// The order found by the search, for at least two operands; absent where every order that it tries
// has too large an intermediate.
absl::optional<ContractionOrder> Searched(const Contraction& contraction) {
  const ContractionPairs pairs =
      IsExact(contraction) ? ExactPairs(contraction) : GreedyPairs(contraction);
  if (pairs.size() + 1 != contraction.operands.size()) return absl::nullopt;
  return OrderOf(contraction, pairs);
}

}  // namespace

absl::StatusOr<ContractionOrder> LeftToRight(const Contraction& contraction) {
  if (contraction.operands.size() == 1) return OneStep(contraction);
  const int count = static_cast<int>(contraction.operands.size());
  ContractionPairs pairs = {{0, 1}};
  for (int i = 2; i < count; ++i) pairs.push_back({count + i - 2, i});
  const absl::optional<ContractionOrder> order = OrderOf(contraction, pairs);
  if (order.has_value()) return *order;
  return InvalidField("operands",
                      "contracted from left to right, an intermediate has more than 9.2e18 "
                      "elements: put operands that share axes side by side");
}

ContractionOrder BestOrder(const Contraction& contraction, const ContractionOrder& left_to_right) {
  ContractionOrder best = left_to_right;
  if (contraction.operands.size() > 2) {
    const absl::optional<ContractionOrder> found = Searched(contraction);
    const auto cost = [](const ContractionOrder& order) {
      return std::make_tuple(order.flops, order.largest_intermediate_elements);
    };
    if (found.has_value() && cost(*found) < cost(best)) best = *found;
  }
  best.search = IsExact(contraction) ? OrderSearch::kExact : OrderSearch::kGreedy;
  return best;
}

absl::StatusOr<ContractionOrder> BestOrder(const Contraction& contraction) {
  const absl::StatusOr<ContractionOrder> left_to_right = LeftToRight(contraction);
  if (left_to_right.ok()) return BestOrder(contraction, *left_to_right);
  absl::optional<ContractionOrder> found = Searched(contraction);
  if (!found.has_value()) {
    return InvalidField("operands",
                        "no order of contraction was found whose intermediates all have at most "
                        "9.2e18 elements: write smaller sizes, or fewer operands");
  }
  found->search = IsExact(contraction) ? OrderSearch::kExact : OrderSearch::kGreedy;
  return *found;
}

}  // namespace sextant
