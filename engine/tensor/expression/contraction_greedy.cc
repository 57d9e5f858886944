// An order of contraction for many operands, where all orders are too many.
#include <tuple>

#include "engine/tensor/expression/contraction_steps.h"

namespace sextant {
namespace {

struct Waiting {
  int number;
  AxisSet axes;
  int64_t elements;
};

// Two of the waiting tensors, by their places.
struct Pair {
  size_t a;
  size_t b;
  double growth;  // elements of the result beyond those of the two
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
  // The axes that at least `times` of the waiting tensors and the output have.
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

  // The pair whose result grows least; ties: that of fewer FLOPs, the first. No axes of the
  // result stay that only the pair has.
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

}  // namespace

ContractionPairs GreedyPairs(const Contraction& contraction) { return Greedy(contraction).Pairs(); }

}  // namespace sextant
