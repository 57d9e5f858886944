// Properties that every architecture has, over random ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "tests/engine/model/flops/random_models.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

// Passes 500 models to `check`.
template <typename Check>
void ForRandomModels(RandomModelOptions options, const Check& check) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    check(RandomModels(seed, options).Model());
  }
}

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
  ForRandomModels({}, [](const ArchitectureSpec& spec) {
    const ArchitectureCount count = CountRandom(spec);
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
  });
}

// A layer of a kind costs what its kind costs, wherever it stands.
TEST(RandomArchitectures, LayersCostWhatTheirKindCosts) {
  ForRandomModels({}, [](const ArchitectureSpec& spec) {
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
  });
}

TEST(RandomArchitectures, TyingRemovesExactlyTheHead) {
  ForRandomModels({.frozen = false}, [](ArchitectureSpec spec) {
    spec.output.head = OutputHeadKind::kUntied;
    const ArchitectureCount untied = CountRandom(spec);
    spec.output.head = OutputHeadKind::kTied;
    const ArchitectureCount tied = CountRandom(spec);
    EXPECT_EQ(untied.all.total - tied.all.total, untied.of(WeightComponent::kTokenEmbedding).total);
    EXPECT_EQ(untied.non_embedding(), tied.non_embedding());
  });
}

// Expert adapters included: what LoRA adds is what it trains, and active with its expert.
TEST(RandomArchitectures, AdaptersAloneAreTrainedOfAFrozenBase) {
  ForRandomModels({.frozen = false}, [](ArchitectureSpec spec) {
    const ArchitectureCount base = CountRandom(spec);
    spec.base_frozen = true;
    spec.adapters = AdapterSpec{.rank = 3, .targets = {{"token_embedding", ""}}};
    const int64_t experts = base.of(WeightComponent::kRoutedExperts).total;
    if (experts > 0) spec.adapters->targets.push_back({"experts", "up"});
    const ArchitectureCount count = CountRandom(spec);
    EXPECT_EQ(count.all.trainable, count.of(WeightComponent::kAdapter).total);
    EXPECT_EQ(count.all.total, base.all.total + count.all.trainable);
    EXPECT_LE(count.of(WeightComponent::kAdapter).active, count.all.trainable);
  });
}

// Every expert in use makes all of a mixture active.
TEST(RandomArchitectures, AllExpertsInUseMakeAllActive) {
  ForRandomModels({}, [](ArchitectureSpec spec) {
    for (LayerSpec& layer : spec.layer_kinds) {
      if (layer.experts.has_value()) layer.experts->experts_per_token = layer.experts->expert_count;
    }
    const ArchitectureCount count = CountRandom(spec);
    EXPECT_EQ(count.all.active, count.all.total);
  });
}

}  // namespace
}  // namespace sextant
