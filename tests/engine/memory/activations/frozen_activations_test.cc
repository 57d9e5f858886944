// Activations that frozen parts and adapters keep, computed by hand.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

using BytesByName = std::map<std::string, int64_t>;

// h = 64, 4 heads of 16, gated 96, 4 layers, 10 tokens.
ActivationCase FourLayers() {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.hidden_size = 64;
  c.spec.layer_kinds = {DenseLayer(Heads(4, 4, 16), Gated(96))};
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 4}};
  c.batch.sequence_length = 10;
  return c;
}
constexpr int64_t kHiddens = 10 * 64 * 2;
constexpr int64_t kFeatures = 10 * 96 * 2;
constexpr int64_t kStatistics = 10 * 4 * 4;
// A layer without trained matrices: two norms, query, key, value, heads, gate and up.
constexpr int64_t kFrozen = 6 * kHiddens + kStatistics + 2 * kFeatures;

BytesByName Kept(const ActivationCase& c) {
  const GradientFlow flow(c.spec);
  const LayerPlacement placement(c.spec, c.layout);
  ActivationTensors rows;
  EXPECT_TRUE(ChunkActivations({c.spec, c.layout, c.batch, &flow}, placement, {}, &rows).ok());
  BytesByName out;
  for (const ActivationTensor& row : rows) {
    out[absl::StrCat(row.module, ".", row.name)] += row.size.value() * row.layers;
  }
  return out;
}

int64_t LayersOf(const ActivationCase& c) {
  const GradientFlow flow(c.spec);
  const LayerPlacement placement(c.spec, c.layout);
  return ChunkActivations({c.spec, c.layout, c.batch, &flow}, placement, {})->layers.value();
}

TEST(FrozenActivations, TrainedWholeAsWithoutFlow) {
  const ActivationCase c = FourLayers();
  EXPECT_TRUE(TrainsEverything(c.spec));
  int64_t sum = 0;
  for (const auto& [name, bytes] : Kept(c)) sum += bytes;
  EXPECT_EQ(sum, StageBytes(c));
}

// Below the first trained layer nothing is kept; frozen layers above it keep what dx needs, norms'
// inputs among it, but no matrix's input of its own.
TEST(FrozenActivations, OfFrozenLayers) {
  ActivationCase c = FourLayers();
  c.spec.frozen_components = {WeightComponent::kTokenEmbedding};
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 2, .frozen = true},
                           {.layer_kind = 0, .count = 1},
                           {.layer_kind = 0, .count = 1, .frozen = true}};
  EXPECT_FALSE(TrainsEverything(c.spec));
  // The trained one keeps all: the norm before attention is trained, which asks for its input.
  EXPECT_EQ(LayersOf(c), LayerBytes(c) + kFrozen);
  EXPECT_EQ(Kept(c).count("token_embedding.ids"), 0u);
  // Trained embeddings: a gradient passes all of them.
  c.spec.frozen_components.clear();
  EXPECT_EQ(LayersOf(c), LayerBytes(c) + 3 * kFrozen);
  EXPECT_EQ(Kept(c)["token_embedding.ids"], 10 * 8);
}

TEST(FrozenActivations, OfFrozenLayersComputedAgain) {
  ActivationCase c = FourLayers();
  c.spec.frozen_components = {WeightComponent::kTokenEmbedding};
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 2, .frozen = true},
                           {.layer_kind = 0, .count = 2}};
  c.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(LayersOf(c), 2 * kHiddens);
  c.batch.recomputation.layers_per_block = 3;  // the first block's last layer is trained
  EXPECT_EQ(LayersOf(c), 2 * kHiddens);
  c.batch.recomputation.layers_per_block = 2;
  EXPECT_EQ(LayersOf(c), kHiddens);
}

// Adapters of rank 3 at query and value share attention's input. In the first layer, below which
// nothing needs a gradient, the norm's input isn't kept.
TEST(FrozenActivations, OfAdapters) {
  ActivationCase c = FourLayers();
  c.spec.base_frozen = true;
  c.spec.adapters =
      AdapterSpec{.rank = 3, .targets = {{"attention", "query"}, {"attention", "value"}}};
  const int64_t inner = 2 * 10 * 3 * 2;
  EXPECT_EQ(LayersOf(c), 4 * (kFrozen + kHiddens + inner) - kHiddens);
  const BytesByName kept = Kept(c);
  EXPECT_EQ(kept.at("attention.input"), 4 * kHiddens);
  EXPECT_EQ(kept.at("attention.adapter_inner"), 4 * inner);
  EXPECT_EQ(kept.count("feed_forward.input"), 0u);
  EXPECT_EQ(kept.count("feed_forward.down_input"), 0u);
  EXPECT_EQ(kept.count("output_head.input"), 0u);
  EXPECT_EQ(kept.at("norm.final"), kHiddens);  // frozen, but a gradient passes it
  EXPECT_EQ(kept.at("loss.softmax"), 10 * 100 * 4);
}

// One adapter on query, key and value as one has one inner tensor, and one copy under dropout.
TEST(FrozenActivations, OfAnAdapterOfMatricesAsOne) {
  ActivationCase c = FourLayers();
  c.spec.base_frozen = true;
  c.spec.adapters = AdapterSpec{.rank = 3, .targets = {{"attention", "query+key+value"}}};
  EXPECT_EQ(Kept(c).at("attention.adapter_inner"), 4 * 10 * 3 * 2);
  c.batch.adapter_dropout = true;
  EXPECT_EQ(Kept(c).at("attention.adapter_input"), 4 * kHiddens);
}

// Each adapter reads a copy of its own; of the first layer's no mask, since its input needs no
// gradient.
TEST(FrozenActivations, OfAdaptersWithDropout) {
  ActivationCase c = FourLayers();
  c.spec.base_frozen = true;
  c.spec.adapters =
      AdapterSpec{.rank = 3, .targets = {{"attention", "query"}, {"attention", "value"}}};
  c.batch.adapter_dropout = true;
  const BytesByName kept = Kept(c);
  EXPECT_EQ(kept.count("attention.input"), 0u);
  EXPECT_EQ(kept.at("attention.adapter_input"), 4 * 2 * kHiddens);
  EXPECT_EQ(kept.at("attention.adapter_dropout_mask"), 3 * 2 * kHiddens / 2);
}

TEST(FrozenActivations, OfAnAdapterBehindTheCore) {
  ActivationCase c = FourLayers();
  c.spec.base_frozen = true;
  c.spec.adapters = AdapterSpec{.rank = 3, .targets = {{"attention", "output"}}};
  const BytesByName kept = Kept(c);
  // The first layer's core has no gradient to pass on: its heads are kept for the adapter alone.
  EXPECT_EQ(kept.at("attention.query"), 3 * kHiddens);
  EXPECT_EQ(kept.at("attention.heads"), 3 * kHiddens);
  EXPECT_EQ(kept.at("attention.output_input"), kHiddens);
  EXPECT_EQ(kept.at("attention.adapter_inner"), 4 * 10 * 3 * 2);
}

// Frozen experts under a trained router: what scales their outputs needs them.
TEST(FrozenActivations, OfFrozenExperts) {
  ActivationCase c = FourLayers();
  LayerSpec& layer = c.spec.layer_kinds[0];
  layer.feed_forward.reset();
  layer.experts = ExpertsSpec{.expert_count = 8, .experts_per_token = 2, .expert = Gated(48)};
  c.spec.frozen_components = {WeightComponent::kRoutedExperts};
  BytesByName kept = Kept(c);
  EXPECT_EQ(kept.count("experts.input"), 0u);
  EXPECT_EQ(kept.count("experts.down_input"), 0u);
  EXPECT_EQ(kept.at("experts.gate"), 4 * 20 * 48 * 2);
  EXPECT_EQ(kept.at("feed_forward.input"), 4 * kHiddens);
  EXPECT_EQ(kept.at("router.probabilities"), 4 * 10 * 8 * 4);
  c.spec.frozen_components.push_back(WeightComponent::kRouter);
  kept = Kept(c);
  EXPECT_EQ(kept.count("feed_forward.input"), 0u);
  EXPECT_EQ(kept.at("router.probabilities"), 4 * 10 * 8 * 4);  // dx of the router
}

TEST(FrozenActivations, AdaptersDropoutAsksForAdapters) {
  ActivationCase c = FourLayers();
  c.batch.adapter_dropout = true;
  FieldViolations violations;
  CheckMicroBatch(c.batch, c.spec, c.layout, violations);
  EXPECT_TRUE(violations.Mentions("layout.kernels.adapter_dropout"));
}

TEST(FrozenActivations, OfNothingTrained) {
  ActivationCase c = FourLayers();
  c.spec.base_frozen = true;
  EXPECT_EQ(LayersOf(c), 0);
}

}  // namespace
}  // namespace sextant
