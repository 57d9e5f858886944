// Activations of a stage by chunk and by place.
#include <gtest/gtest.h>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/sharding/random_sharding.h"

namespace sextant {
namespace {

StageParts PartsOf(const ActivationCase& c, int64_t stage, int64_t chunk = kAllChunks) {
  const LayerPlacement placement(c.spec, c.layout);
  return *ChunkActivations(c.context(), placement, {.stage = stage, .chunk = chunk});
}

// 9 layers of two kinds in chunks of 5, 1, 2, 1 on two stages.
ActivationCase TwoKinds() {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.layer_kinds.push_back(DenseLayer(Heads(4, 2, 2), Gated(100)));
  c.spec.decoder.layers = {
      {.layer_kind = 0, .count = 4}, {.layer_kind = 1, .count = 2}, {.layer_kind = 0, .count = 3}};
  c.layout.pipeline_parallel_size = c.layout.virtual_stage_count = 2;
  c.layout.layers_per_chunk = {5, 1, 2, 1};
  c.batch.sequence_length = 6;
  return c;
}

TEST(ChunkActivations, HaveTheirOwnLayers) {
  const ActivationCase c = TwoKinds();
  const int64_t plain = LayerBytes(c);
  const int64_t wide = LayerActivations(c.context(), ModelPart::kDecoder, 1)->value();
  EXPECT_EQ(PartsOf(c, 0, 0).layers.value(), 4 * plain + wide);
  EXPECT_EQ(PartsOf(c, 0, 1).layers.value(), 2 * plain);
  EXPECT_EQ(PartsOf(c, 1, 0).layers.value(), wide);
  EXPECT_EQ(PartsOf(c, 1, 1).layers.value(), plain);
  EXPECT_EQ(PartsOf(c, 0, 0).embedding.value(), 6 * 8);
  EXPECT_EQ(PartsOf(c, 0, 1).embedding.value(), 0);
  EXPECT_EQ(PartsOf(c, 1, 0).output.value(), 0);
  EXPECT_EQ(PartsOf(c, 1, 1).output.value(), 2 * 6 * 8 * 2 + 6 * 100 * 4);
}

TEST(ChunkActivations, AddUpToTheirStage) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSharding drawn = DrawSharding(seed);
    ActivationCase c = {.spec = drawn.spec, .layout = drawn.layout};
    c.batch.sequence_length = c.batch.encoder_sequence_length = 8;
    const GradientFlow flow(c.spec);
    const LayerPlacement placement(c.spec, c.layout);
    for (const auto policy : {RecomputePolicy::kNone, RecomputePolicy::kFull}) {
      c.batch.recomputation = {.policy = policy};
      if (policy == RecomputePolicy::kFull) c.batch.recomputation.layers_per_block = 2;
      for (const GradientFlow* f : {static_cast<const GradientFlow*>(nullptr), &flow}) {
        const ActivationContext context = {c.spec, c.layout, c.batch, f};
        for (int64_t stage = 0; stage < c.layout.pipeline_parallel_size; ++stage) {
          Bytes sum(0);
          for (int64_t i = 0; i < c.layout.virtual_stage_count; ++i) {
            sum = sum + ChunkActivations(context, placement, {stage, i})->total();
          }
          EXPECT_EQ(sum, ChunkActivations(context, placement, {.stage = stage})->total());
        }
      }
    }
  }
}

}  // namespace
}  // namespace sextant
