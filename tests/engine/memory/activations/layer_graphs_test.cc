// Activations that layers keep, and the peak of a backward pass, compared with a graph of the same
// operations (docs/operation_costs.md, "Graphs"), which knows nothing of transformers. 200 random
// layers each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/operation/graphs.h"

namespace sextant {
namespace {

class GraphMaker {
 protected:
  explicit GraphMaker(uint32_t seed) : random_(seed) { graph_.data_type = DataType::kBf16; }

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  void AddInput(Shape shape) {
    graph_.tensors.push_back(InputOf("x", std::move(shape)));
    graph_.tensors.back().requires_gradient = true;
  }
  std::string Do(const std::string& name, Operation operation, std::vector<std::string> inputs) {
    graph_.operations.push_back(Make(name, std::move(operation), std::move(inputs)));
    return name;
  }
  std::string Map(const std::string& name, const std::string& x, int64_t in, int64_t out) {
    graph_.tensors.push_back(ParameterOf(name + ".w", {in, out}));
    return Do(name, Linear{}, {x, name + ".w"});
  }
  std::string Norm(const std::string& name, const std::string& x, int64_t length) {
    graph_.tensors.push_back(ParameterOf(name + ".w", {length}));
    return Do(name, RmsNorm{}, {x, name + ".w"});
  }

  GraphSpec graph_;

 private:
  std::mt19937 random_;
};

class RandomLayer : GraphMaker {
 public:
  explicit RandomLayer(uint32_t seed) : GraphMaker(seed) {
    const int64_t groups = Between(1, 3);
    AttentionSpec attention = Heads(groups * Between(1, 3), groups, 2 * Between(1, 3));
    if (Between(0, 1) == 1) attention.query_key_norm = QueryKeyNorm::kPerHead;
    const int64_t size = Between(1, 40);
    case_.spec = SmallDecoder();
    case_.spec.hidden_size = Between(2, 30);
    case_.spec.layer_kinds = {
        DenseLayer(attention, Between(0, 1) == 1 ? Gated(size) : Plain(size))};
    layer().norms = {.before_attention = Between(0, 3) > 0,
                     .after_attention = Between(0, 1) == 1,
                     .before_feed_forward = Between(0, 3) > 0,
                     .after_feed_forward = Between(0, 1) == 1};
    case_.batch.sequence_count = Between(1, 3);
    case_.batch.sequence_length = Between(2, 9);
    case_.batch.dropout = Between(0, 1) == 1;
    // The graph's unfused attention has no dropout of its own.
    if (!case_.batch.dropout && Between(0, 1) == 1) {
      case_.batch.attention = AttentionKernel::kUnfused;
    }
  }

  const ActivationCase& activation_case() const { return case_; }

  GraphSpec Graph() {
    const MicroBatchSpec& batch = case_.batch;
    AddInput({batch.sequence_count, batch.sequence_length, hidden()});
    const LayerNorms& norms = layer().norms;
    const std::string attended = Branch("x", norms.before_attention, norms.after_attention, true);
    const bool shares =
        norms.before_attention && !norms.after_attention && !norms.before_feed_forward;
    // Branches that run in parallel: both read the norm of x.
    const std::string into = shares ? "x" : attended;
    shared_ = shares ? "attention.before" : "";
    Branch(into, norms.before_feed_forward, norms.after_feed_forward, false);
    return graph_;
  }

 private:
  LayerSpec& layer() { return case_.spec.layer_kinds[0]; }
  int64_t hidden() const { return case_.spec.hidden_size; }
  std::string Turn(const std::string& name, const std::string& expression, const std::string& x,
                   std::vector<AxisSize> sizes = {}) {
    graph_.operations.push_back(Rearranged(name, expression, x, std::move(sizes)));
    return name;
  }

  std::string HeadsOf(const std::string& name, const std::string& input, int64_t heads, bool normed,
                      bool turned) {
    const int64_t d = layer().attention->query_key_head_size;
    std::string x = Turn(name + ".heads", "b t (h d) -> b t h d",
                         Map(name, input, hidden(), heads * d), {{"d", d}});
    if (normed && layer().attention->query_key_norm != QueryKeyNorm::kNone) {
      x = Norm(name + ".norm", x, d);
    }
    if (turned) x = Do(name + ".turned", Rotary{}, {x});
    return Turn(name + ".by_head", "b t h d -> b h t d", x);
  }

  std::string Attend(const std::string& input) {
    const AttentionSpec& a = *layer().attention;
    const std::string q = HeadsOf("q", input, a.head_count, true, true);
    const std::string k = HeadsOf("k", input, a.key_value_head_count, true, true);
    const std::string v = HeadsOf("v", input, a.key_value_head_count, false, false);
    const bool fused = case_.batch.attention == AttentionKernel::kFlash;
    Do("mixed", Attention{.causal = true, .fused = fused}, {q, k, v});
    Turn("merged", "b h t d -> b t (h d)", "mixed");
    return Map("out", "merged", a.head_count * a.value_head_size, hidden());
  }

  std::string FeedForward(const std::string& input) {
    const FeedForwardSpec& f = *layer().feed_forward;
    const std::string up = Map("up", input, hidden(), f.size);
    const std::string inner =
        f.kind == FeedForwardKind::kGated
            ? Do("inner", SwiGlu{}, {Map("gate", input, hidden(), f.size), up})
            : Do("inner", Activation{.function = ActivationFunction::kGeluErf}, {up});
    return Map("down", inner, f.size, hidden());
  }

  // x and what `branch` makes of it.
  std::string Branch(const std::string& x, bool before, bool after, bool attends) {
    const std::string name = attends ? "attention" : "feed_forward";
    std::string input = before ? Norm(name + ".before", x, hidden()) : x;
    if (!attends && !shared_.empty()) input = shared_;
    std::string y = attends ? Attend(input) : FeedForward(input);
    if (case_.batch.dropout) y = Do(name + ".dropped", Dropout{}, {y});
    if (after) y = Norm(name + ".after", y, hidden());
    return Do(name + ".sum", Elementwise{.function = ElementwiseFunction::kAdd}, {x, y});
  }

  ActivationCase case_;
  std::string shared_;
};

// A norm's statistics, a number or two a token, are left out of activations, and tables of sines
// are of the model. A fused attention writes its heads as the output's matrix reads them: the
// graph's copy of them isn't one.
int64_t CountedBytes(const GraphMemory& memory) {
  int64_t sum = 0;
  int64_t heads = 0;
  bool copied = false;
  for (const SavedStorage& saved : memory.saved) {
    const GraphStorage& storage = saved.storage;
    if (storage.kind == StorageKind::kTable ||
        storage.name.find("reciprocal deviation") != std::string::npos) {
      continue;
    }
    sum += storage.size.value();
    if (storage.name == "mixed") heads = storage.size.value();
    copied = copied || storage.name == "merged";
  }
  return sum - (copied ? heads : 0);
}

TEST(ActivationGraphOracle, LayersKeepWhatTheirGraphSaves) {
  int unfused = 0;
  int dropout = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomLayer random(seed);
    const ActivationCase& c = random.activation_case();
    const GraphAnalysis graph = Analyzed(random.Graph());
    EXPECT_EQ(LayerBytes(c), CountedBytes(graph.memory));
    unfused += c.batch.attention == AttentionKernel::kUnfused ? 1 : 0;
    dropout += c.batch.dropout ? 1 : 0;
  }
  EXPECT_GT(unfused, 20);
  EXPECT_GT(dropout, 20);
}

// So many tokens that parameters and their gradients, which the graph holds too, decide nothing: a
// feature more of all tokens is more than all of them.
constexpr int64_t kTokens = 6000;

class RandomFeedForward : GraphMaker {
 public:
  explicit RandomFeedForward(uint32_t seed) : GraphMaker(seed) {
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
    AddInput({1, kTokens, h});
    std::string y = "x";
    if (layer.norms.before_feed_forward) y = Norm("before", y, h);
    const int64_t f = layer.feed_forward->size;
    y = Map("up", y, h, f);
    y = Do("inner", Activation{.function = ActivationFunction::kGeluErf}, {y});
    y = Map("down", y, f, h);
    if (case_.base.batch.dropout) y = Do("dropped", Dropout{}, {y});
    if (layer.norms.after_feed_forward) y = Norm("after", y, h);
    Do("sum", Elementwise{.function = ElementwiseFunction::kAdd}, {"x", y});
    return graph_;
  }

 private:
  TransientCase case_;
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
