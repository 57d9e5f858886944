// Activations that layers keep, compared with those that a graph of the same operations saves for
// its backward pass (docs/operation_costs.md, "Graphs"), which knows nothing of transformers. 200
// random layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/operation/graphs.h"

namespace sextant {
namespace {

class RandomLayer {
 public:
  explicit RandomLayer(uint32_t seed) : random_(seed) {
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
    graph_.data_type = DataType::kBf16;
    graph_.tensors.push_back(InputOf("x", {batch.sequence_count, batch.sequence_length, hidden()}));
    graph_.tensors.back().requires_gradient = true;
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
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  std::string Do(const std::string& name, Operation operation, std::vector<std::string> inputs) {
    graph_.operations.push_back(Make(name, std::move(operation), std::move(inputs)));
    return name;
  }
  std::string Turn(const std::string& name, const std::string& expression, const std::string& x,
                   std::vector<AxisSize> sizes = {}) {
    graph_.operations.push_back(Rearranged(name, expression, x, std::move(sizes)));
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

  std::mt19937 random_;
  ActivationCase case_;
  GraphSpec graph_;
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

}  // namespace
}  // namespace sextant
