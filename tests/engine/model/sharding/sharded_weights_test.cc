// Weights on each stage's GPUs, computed by hand.
#include "engine/model/sharding/sharded_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

struct OfStage {
  int64_t total;
  int64_t repeated = 0;
};

void ExpectStages(const ArchitectureSpec& spec, const ParallelLayout& layout,
                  const std::vector<OfStage>& expected) {
  const auto weights = ShardedWeights::Of(spec, "model", layout, "layout");
  ASSERT_THAT(weights, IsOk());
  ASSERT_EQ(weights->stage_count(), static_cast<int64_t>(expected.size()));
  for (size_t stage = 0; stage < expected.size(); ++stage) {
    const StageWeights counts = weights->Stage(static_cast<int64_t>(stage));
    EXPECT_EQ(counts.all.total, expected[stage].total) << stage;
    EXPECT_EQ(counts.repeated, expected[stage].repeated) << stage;
  }
}

ParallelLayout Stages(int64_t count) { return {.pipeline_parallel_size = count}; }

// A layer has 64 + 32 + 32 + 64 in attention, 768 in its feed-forward and 16 in norms: 976.
// Embedding and head have 800 each, the final norm 8.
TEST(ShardedWeights, PutsEmbeddingFirstAndHeadLast) {
  ExpectStages(SmallDecoder(), Stages(1), {{3560}});
  ExpectStages(SmallDecoder(), Stages(2), {{800 + 976}, {976 + 8 + 800}});
  ParallelLayout layout = Stages(2);
  layout.tensor_parallel_size = 2;  // a layer: 192 / 2 + 768 / 2 + 16 = 496
  ExpectStages(SmallDecoder(), layout, {{400 + 496}, {496 + 8 + 400}});
  layout = Stages(3);
  layout.layers_per_chunk = {0, 2, 0};
  ExpectStages(SmallDecoder(), layout, {{800}, {2 * 976}, {8 + 800}});
}

TEST(ShardedWeights, CopiesATiedEmbeddingToTheLastStage) {
  ArchitectureSpec spec = SmallDecoder();
  spec.output.head = OutputHeadKind::kTied;
  spec.decoder.learned_position_count = 5;  // 40
  ExpectStages(spec, Stages(1), {{3560 - 800 + 40}});
  ExpectStages(spec, Stages(2), {{800 + 40 + 976}, {976 + 8 + 800, 800}});
}

// A module has norms of 3 x 8, a projection of 8 x 16 and a layer of 976: 1128.
TEST(ShardedWeights, PutsModulesOfMultiTokenPredictionLastWithWhatTheyEmbedBy) {
  ArchitectureSpec spec = SmallDecoder();
  spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 2};
  ExpectStages(spec, Stages(2), {{800 + 976}, {976 + 8 + 800 + 2 * 1128 + 800, 800}});
  spec.decoder.learned_position_count = 5;
  ExpectStages(spec, Stages(2), {{840 + 976}, {976 + 8 + 800 + 2 * 1128 + 840, 840}});
  spec.output.head = OutputHeadKind::kTied;  // one copy serves both
  ExpectStages(spec, Stages(2), {{840 + 976}, {976 + 8 + 2 * 1128 + 840, 840}});
}

// An encoder's layer has 4 x 64 in attention, 768 and 16: 1040; a decoder's another attention and
// another norm: 1304. Each stack has a final norm.
TEST(ShardedWeights, EmbedsAgainWhereADecoderStarts) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  ExpectStages(spec, Stages(1), {{800 + 1040 + 8 + 1304 + 8 + 800}});
  ExpectStages(spec, Stages(2), {{800 + 1040 + 8}, {800 + 1304 + 8 + 800, 800}});
  spec.encoder.learned_position_count = 3;
  spec.decoder.learned_position_count = 5;
  spec.decoder.embedding_norm = true;
  ExpectStages(spec, Stages(2), {{800 + 24 + 1040 + 8}, {800 + 40 + 8 + 1304 + 8 + 800, 800}});
  spec.output.head = OutputHeadKind::kTied;  // the copy that feeds the decoder is the head's too
  ExpectStages(spec, Stages(2), {{800 + 24 + 1040 + 8}, {800 + 40 + 8 + 1304 + 8, 800}});
  spec.decoder.layers = {{1, 3}};
  ExpectStages(spec, Stages(4),
               {{800 + 24 + 1040 + 8}, {840 + 8 + 1304, 800}, {1304}, {1304 + 8 + 800, 800}});
}

TEST(ShardedWeights, EndsAnEncoderOnTheLastStage) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  spec.layer_kinds.pop_back();
  spec.encoder.layers = {{0, 2}};
  spec.decoder = {};
  spec.output = {.head = OutputHeadKind::kTied, .pooler = true};  // 72
  ExpectStages(spec, Stages(2), {{800 + 1040}, {1040 + 8 + 800 + 72, 800}});
}

// One table of 6 buckets and 4 heads a stack: every stage with layers of the stack reads it.
TEST(ShardedWeights, CopiesRelativePositionsToAllStagesOfTheirStack) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  spec.encoder.layers = {{0, 2}};
  spec.decoder.layers = {{1, 1}};
  spec.encoder.relative_position_bucket_count = 6;
  ExpectStages(spec, Stages(3),
               {{800 + 24 + 1040}, {24 + 1040 + 8, 24}, {800 + 1304 + 8 + 800, 800}});
}

TEST(ShardedWeights, CountsFrozenLayersWhereTheyStand) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers = {{0, 1, true}, {0, 1}};
  const auto weights = ShardedWeights::Of(spec, "model", Stages(2), "layout");
  ASSERT_THAT(weights, IsOk());
  EXPECT_EQ(weights->Stage(0).all, (ShardCount{800 + 976, 800}));
  EXPECT_EQ(weights->Stage(1).all, (ShardCount{976 + 808, 976 + 808}));
  EXPECT_EQ(weights->Stage(0).layer_count, 1);
}

// Rank 2 on 8 x 8 queries: 32 parameters, half of them cut.
TEST(ShardedWeights, TrainsAdaptersOfFrozenLayers) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers = {{0, 2, true}};
  spec.base_frozen = true;
  spec.adapters = AdapterSpec{.rank = 2, .targets = {{"attention", "query"}}};
  ParallelLayout layout = Stages(2);
  layout.tensor_parallel_size = 2;
  const auto weights = ShardedWeights::Of(spec, "model", layout, "layout");
  ASSERT_THAT(weights, IsOk());
  for (int64_t stage = 0; stage < 2; ++stage) {
    const StageWeights counts = weights->Stage(stage);
    EXPECT_EQ(counts.all.trainable, 16 + 8);
    EXPECT_EQ(counts.of(ShardGroup::kDense, WeightComponent::kAdapter), (ShardCount{24, 24}));
  }
}

// An expert has 3 x 8 x 3 = 72; a layer 4 of them, a router of 32, attention and norms of 208.
TEST(ShardedWeights, KeepsExpertsApart) {
  ArchitectureSpec spec = SmallMixture();
  spec.layer_kinds[0].experts->router_correction_bias = true;  // 4, moved by no gradient
  const auto weights = ShardedWeights::Of(
      spec, "model", {.pipeline_parallel_size = 2, .expert_parallel_size = 4}, "layout");
  ASSERT_THAT(weights, IsOk());
  const StageWeights counts = weights->Stage(0);
  EXPECT_EQ(counts.of(ShardGroup::kExpert), (ShardCount{72, 72}));
  EXPECT_EQ(counts.of(ShardGroup::kDense), (ShardCount{800 + 208 + 36, 800 + 208 + 32}));
  EXPECT_EQ(counts.of(ShardGroup::kExpert, WeightComponent::kRoutedExperts), (ShardCount{72, 72}));
  EXPECT_EQ(counts.of(ShardGroup::kDense, WeightComponent::kRouter), (ShardCount{32, 32}));
  EXPECT_EQ(weights->CountOn(1).total, weights->CountOn(0).total + 8);  // the final norm
}

TEST(ShardedWeights, SumsOverRanks) {
  ParallelLayout layout = Stages(2);
  layout.tensor_parallel_size = 2;
  const auto weights = ShardedWeights::Of(SmallDecoder(), "model", layout, "layout");
  ASSERT_THAT(weights, IsOk());
  const int64_t held = 2 * (weights->CountOn(0).total + weights->CountOn(1).total);
  EXPECT_EQ(held, 3560 + 2 * 16 + 8);  // norms twice
}

TEST(ShardedWeights, RefusesWhatItCannotShard) {
  ArchitectureSpec spec = SmallDecoder();
  EXPECT_THAT(ShardedWeights::Of(spec, "model", {.tensor_parallel_size = 3}, "layout"),
              NamesFields(ElementsAre("layout.tensor_parallel_size",  // heads
                                      "layout.tensor_parallel_size")));
  spec.hidden_size = 0;
  EXPECT_THAT(ShardedWeights::Of(spec, "model", {.tensor_parallel_size = 3}, "layout"),
              NamesFields(ElementsAre("model.hidden_size")));
}

TEST(ShardedWeights, TakesAThousandStages) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers = {{0, 4096}};
  ParallelLayout layout = Stages(1024);
  layout.virtual_stage_count = 4;
  const auto weights = ShardedWeights::Of(spec, "model", layout, "layout");
  ASSERT_THAT(weights, IsOk());
  int64_t sum = 0;
  for (int64_t stage = 0; stage < 1024; ++stage) sum += weights->Stage(stage).all.total;
  EXPECT_EQ(sum, weights->model().count().all.total);
  EXPECT_EQ(weights->Stage(500).all.total, 4 * 976);
}

}  // namespace
}  // namespace sextant
