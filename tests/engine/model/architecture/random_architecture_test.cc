// Properties that every architecture has, over random ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/count_weights.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr int kModels = 500;

class RandomArchitecture {
 public:
  explicit RandomArchitecture(uint32_t seed) : random_(seed) {}

  ArchitectureSpec Draw() {
    ArchitectureSpec spec;
    spec.hidden_size = Between(2, 40);
    spec.norm = Norm();
    spec.embedding = {.vocabulary_size = Between(2, 200),
                      .embedding_size = Chance() ? 0 : Between(2, 40),
                      .token_type_count = Between(0, 2)};
    spec.output = {.head = OutputHeadKind::kUntied, .head_bias = Chance(), .pooler = Chance()};
    if (Chance()) {
      spec.embedding.padded_vocabulary_size =
          PaddedVocabularySize(spec.embedding.vocabulary_size, 64);
    }
    const int kinds = static_cast<int>(Between(1, 4));
    for (int kind = 0; kind < kinds; ++kind) {
      spec.layer_kinds.push_back(Layer(absl::StrCat("kind", kind)));
      spec.decoder.layers.push_back({kind, Between(1, 5), Chance()});
    }
    for (int i = 0; i < 3; ++i) {  // kinds alternate
      spec.decoder.layers.push_back({static_cast<int>(Between(0, kinds - 1)), Between(1, 5)});
    }
    spec.decoder.learned_position_count = Between(0, 20);
    if (Chance()) {
      spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = Between(1, 3)};
    }
    return spec;
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Chance() { return Between(0, 1) == 1; }
  NormVariant Norm() { return static_cast<NormVariant>(Between(1, 4)); }

  AttentionSpec Attention() {
    AttentionSpec attention = Heads(Between(1, 4), 1, Between(2, 9));
    attention.value_head_size = Between(1, 9);
    attention.output_bias = Chance();
    attention.sinks = Chance();
    if (Chance()) {
      attention.key_value_head_count = attention.head_count;
      attention.latent = LatentSpec{.query_rank = Between(0, 5),
                                    .key_value_rank = Between(1, 5),
                                    .rotary_size = Between(0, 1),
                                    .down_bias = Chance()};
    } else {
      attention.query_bias = Chance();
      attention.query_key_norm = static_cast<QueryKeyNorm>(Between(0, 2));
    }
    return attention;
  }

  FeedForwardSpec FeedForward() { return Chance() ? Gated(Between(1, 30)) : Plain(Between(1, 30)); }

  LayerSpec Layer(const std::string& name) {
    LayerSpec layer = DenseLayer(Attention(), FeedForward());
    layer.name = name;
    layer.norm = Norm();
    layer.norms.after_attention = Chance();
    if (Chance()) {
      layer.feed_forward.reset();
      const int64_t experts = Between(1, 9);
      layer.experts = ExpertsSpec{.expert_count = experts,
                                  .experts_per_token = Between(1, experts),
                                  .expert = FeedForward(),
                                  .shared_expert_count = 1,
                                  .shared_expert = FeedForward(),
                                  .shared_expert_gate = Chance(),
                                  .router_bias = Chance(),
                                  .router_correction_bias = Chance()};
    }
    return layer;
  }

  std::mt19937 random_;
};

ArchitectureCount CountRandom(const ArchitectureSpec& spec) {
  const auto count = CountArchitecture(spec, "");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

void AddTo(WeightCount& sum, const WeightCount& count) {
  sum.total += count.total;
  sum.active += count.active;
  sum.trainable += count.trainable;
}

TEST(RandomArchitectures, ComponentsAndPartsSumToTheTotal) {
  for (uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    const ArchitectureCount count = CountRandom(RandomArchitecture(seed).Draw());
    WeightCount components;
    WeightCount parts;
    for (const WeightCount& c : count.by_component) AddTo(components, c);
    for (const WeightCount& c : count.by_part) AddTo(parts, c);
    EXPECT_EQ(components, count.all);
    EXPECT_EQ(parts, count.all);
    EXPECT_LE(count.all.active, count.all.total);
    EXPECT_LE(count.all.trainable, count.all.total);
    EXPECT_LE(count.padding, count.embedding);
    EXPECT_GT(count.all.active, 0);
  }
}

// A layer of a kind costs what its kind costs, wherever it stands.
TEST(RandomArchitectures, LayersCostWhatTheirKindCosts) {
  for (uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    ArchitectureSpec spec = RandomArchitecture(seed).Draw();
    const ArchitectureCount before = CountRandom(spec);
    for (const LayerKindCount& kind : before.by_layer_kind) {
      EXPECT_EQ(kind.total_per_layer * kind.layers, kind.all_layers.total);
      EXPECT_EQ(kind.active_per_layer * kind.layers, kind.all_layers.active);
      if (kind.part != ModelPart::kDecoder) continue;
      ArchitectureSpec longer = spec;
      longer.decoder.layers.push_back({kind.layer_kind, 7});
      const ArchitectureCount after = CountRandom(longer);
      EXPECT_EQ(after.all.total - before.all.total, 7 * kind.total_per_layer);
      EXPECT_EQ(after.all.active - before.all.active, 7 * kind.active_per_layer);
    }
  }
}

TEST(RandomArchitectures, TyingRemovesExactlyTheHead) {
  for (uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    ArchitectureSpec spec = RandomArchitecture(seed).Draw();
    const ArchitectureCount untied = CountRandom(spec);
    spec.output.head = OutputHeadKind::kTied;
    const ArchitectureCount tied = CountRandom(spec);
    EXPECT_EQ(untied.all.total - tied.all.total, untied.of(WeightComponent::kTokenEmbedding).total);
    EXPECT_EQ(untied.non_embedding(), tied.non_embedding());
  }
}

// Expert adapters included: what LoRA adds is what it trains, and active with its expert.
TEST(RandomArchitectures, AdaptersAloneAreTrainedOfAFrozenBase) {
  for (uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    ArchitectureSpec spec = RandomArchitecture(seed).Draw();
    const ArchitectureCount base = CountRandom(spec);
    spec.base_frozen = true;
    spec.adapters = AdapterSpec{.rank = 3, .targets = {{"token_embedding", ""}}};
    const int64_t experts = base.of(WeightComponent::kRoutedExperts).total;
    if (experts > 0) spec.adapters->targets.push_back({"experts", "up"});
    const ArchitectureCount count = CountRandom(spec);
    EXPECT_EQ(count.all.trainable, count.of(WeightComponent::kAdapter).total);
    EXPECT_EQ(count.all.total, base.all.total + count.all.trainable);
    EXPECT_LE(count.of(WeightComponent::kAdapter).active, count.all.trainable);
  }
}

// Every expert in use makes all of a mixture active.
TEST(RandomArchitectures, AllExpertsInUseMakeAllActive) {
  for (uint32_t seed = 0; seed < kModels; ++seed) {
    ArchitectureSpec spec = RandomArchitecture(seed).Draw();
    for (LayerSpec& layer : spec.layer_kinds) {
      if (layer.experts.has_value()) layer.experts->experts_per_token = layer.experts->expert_count;
    }
    const ArchitectureCount count = CountRandom(spec);
    EXPECT_EQ(count.all.active, count.all.total) << seed;
  }
}

}  // namespace
}  // namespace sextant
