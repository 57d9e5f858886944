// The peak of a feed-forward's backward pass, against a graph of the same operations
// (docs/operation_costs.md, "Graphs"), whose arrays live from their first to their last use. 200
// random layers.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/operation/graphs.h"

namespace sextant {
namespace {

// So many tokens that parameters and their gradients, which the graph holds too, decide nothing: a
// feature more of all tokens is more than all of them.
constexpr int64_t kTokens = 6000;

class RandomFeedForward {
 public:
  explicit RandomFeedForward(uint32_t seed) : random_(seed) {
    case_.base.spec = SmallDecoder();
    case_.base.spec.hidden_size = Between(2, 30);
    LayerSpec& layer = case_.base.spec.layer_kinds[0];
    layer = DenseLayer(Heads(1, 1, 2), Plain(Between(1, 40)));
    layer.attention.reset();
    layer.norms = {.before_attention = false,
                   .before_feed_forward = Between(0, 3) > 0,
                   .after_feed_forward = Between(0, 1) == 1};
    case_.base.layout.pipeline_parallel_size = 2;
    case_.base.batch.sequence_length = kTokens;
    case_.base.batch.dropout = Between(0, 1) == 1;
  }

  const TransientCase& transient_case() const { return case_; }

  GraphSpec Graph() {
    const int64_t h = case_.base.spec.hidden_size;
    const LayerSpec& layer = case_.base.spec.layer_kinds[0];
    graph_.data_type = DataType::kBf16;
    graph_.tensors.push_back(InputOf("x", {1, kTokens, h}));
    graph_.tensors.back().requires_gradient = true;
    std::string y = "x";
    if (layer.norms.before_feed_forward) y = Do("before", RmsNorm{}, {y, Weight("before", {h})});
    const int64_t f = layer.feed_forward->size;
    y = Do("up", Linear{}, {y, Weight("up", {h, f})});
    y = Do("inner", Activation{.function = ActivationFunction::kGeluErf}, {y});
    y = Do("down", Linear{}, {y, Weight("down", {f, h})});
    if (case_.base.batch.dropout) y = Do("dropped", Dropout{}, {y});
    if (layer.norms.after_feed_forward) y = Do("after", RmsNorm{}, {y, Weight("after", {h})});
    Do("sum", Elementwise{.function = ElementwiseFunction::kAdd}, {"x", y});
    return graph_;
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  std::string Weight(const std::string& name, Shape shape) {
    graph_.tensors.push_back(ParameterOf(name + ".w", std::move(shape)));
    return name + ".w";
  }
  std::string Do(const std::string& name, Operation operation, std::vector<std::string> inputs) {
    graph_.operations.push_back(Make(name, std::move(operation), std::move(inputs)));
    return name;
  }

  std::mt19937 random_;
  TransientCase case_;
  GraphSpec graph_;
};

// The bytes at the peak that a layer's ledger counts: without parameters, norms' statistics, and
// the graph's output, which the next layer keeps.
int64_t CountedAtPeak(const GraphMemory& memory) {
  int64_t sum = 0;
  for (const GraphStorage& storage : memory.at_peak) {
    const bool of_parameters = storage.kind == StorageKind::kParameter ||
                               storage.kind == StorageKind::kParameterGradient ||
                               storage.kind == StorageKind::kOptimizerState;
    if (of_parameters || storage.name == "sum" ||
        storage.name.find("reciprocal deviation") != std::string::npos) {
      continue;
    }
    sum += storage.size.value();
  }
  return sum;
}

TEST(TransientGraphOracle, FeedForwardsPeakWhereTheirGraphsDo) {
  int same = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomFeedForward random(seed);
    const TransientCase& c = random.transient_case();
    const GraphAnalysis graph = Analyzed(random.Graph());
    const PhaseBytes layer = c.Of(0).At(StagePhase::kLayer);
    const int64_t ours = LayerBytes(c.base) + (layer.added - layer.freed).value();
    const int64_t counted = CountedAtPeak(graph.memory);
    // Statistics of the graph's norms, 4 bytes a token each, may move its peak to a step before.
    EXPECT_LE(counted, ours) << graph.memory.peak_moment;
    EXPECT_GE(counted, ours - 8 * kTokens) << graph.memory.peak_moment;
    same += counted == ours ? 1 : 0;
  }
  EXPECT_GT(same, 190);
}

}  // namespace
}  // namespace sextant
