// Layers on stages, in chunks of equal and of given lengths.
#include "engine/model/sharding/layer_placement.h"

#include <gtest/gtest.h>

#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

// 8 layers of kinds 0 0 0 1 1 0 1 1, of which the fourth and the fifth are frozen.
ArchitectureSpec TwoKinds() {
  ArchitectureSpec spec = SmallDecoder();
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "other";
  spec.decoder.layers = {{0, 3}, {1, 2, true}, {0, 1}, {1, 2}};
  return spec;
}

KindLayers LayersOn(const LayerPlacement& placement, int64_t stage, ModelPart part, int kind) {
  for (const StageKind& on : placement.KindsOn(stage)) {
    if (on.part == part && on.layer_kind == kind) return on.layers;
  }
  return {};
}

void ExpectLayers(const LayerPlacement& placement, int64_t stage, int kind, KindLayers expected) {
  const KindLayers layers = LayersOn(placement, stage, ModelPart::kDecoder, kind);
  EXPECT_EQ(layers.count, expected.count) << stage << " " << kind;
  EXPECT_EQ(layers.not_frozen, expected.not_frozen) << stage << " " << kind;
}

TEST(LayerPlacement, CutsLayersInOrder) {
  const LayerPlacement placement(TwoKinds(), {.pipeline_parallel_size = 2});
  ExpectLayers(placement, 0, 0, {3, 3});
  ExpectLayers(placement, 0, 1, {1, 0});
  ExpectLayers(placement, 1, 0, {1, 1});
  ExpectLayers(placement, 1, 1, {3, 2});
  EXPECT_EQ(placement.ChunkOf(1, 0).first, 4);
  EXPECT_EQ(placement.ChunkOf(1, 0).count, 4);
}

// Megatron-LM's own example: 8 layers, 2 stages, 2 chunks each: [0 1][4 5] and [2 3][6 7].
TEST(LayerPlacement, InterleavesChunks) {
  const LayerPlacement placement(TwoKinds(),
                                 {.pipeline_parallel_size = 2, .virtual_stage_count = 2});
  EXPECT_EQ(placement.ChunkOf(0, 0).first, 0);
  EXPECT_EQ(placement.ChunkOf(1, 0).first, 2);
  EXPECT_EQ(placement.ChunkOf(0, 1).first, 4);
  EXPECT_EQ(placement.ChunkOf(1, 1).first, 6);
  ExpectLayers(placement, 0, 0, {3, 3});  // layers 0, 1 and 5
  ExpectLayers(placement, 0, 1, {1, 0});  // layer 4
  ExpectLayers(placement, 1, 0, {1, 1});  // layer 2
  ExpectLayers(placement, 1, 1, {3, 2});  // layers 3, 6 and 7
}

TEST(LayerPlacement, TakesGivenLengthsAndEmptyChunks) {
  const LayerPlacement placement(TwoKinds(),
                                 {.pipeline_parallel_size = 4, .layers_per_chunk = {0, 1, 7, 0}});
  EXPECT_EQ(placement.LayersOn(0), 0);
  EXPECT_EQ(placement.LayersOn(2), 7);
  ExpectLayers(placement, 1, 0, {1, 1});
  ExpectLayers(placement, 2, 0, {3, 3});
  ExpectLayers(placement, 2, 1, {4, 2});
  EXPECT_FALSE(placement.HasLayersOf(0, ModelPart::kDecoder));
  EXPECT_FALSE(placement.HasLayersOf(1, ModelPart::kEncoder));
  EXPECT_EQ(placement.LowestStageOf(ModelPart::kDecoder), 1);
  EXPECT_EQ(placement.LowestStageOf(ModelPart::kEncoder), 4);
}

// Three layers of an encoder and five of a decoder on four stages: the second stage has both.
TEST(LayerPlacement, PutsTheEncoderFirst) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  spec.encoder.layers = {{0, 3}};
  spec.decoder.layers = {{1, 5}};
  const LayerPlacement placement(spec, {.pipeline_parallel_size = 4});
  EXPECT_EQ(LayersOn(placement, 0, ModelPart::kEncoder, 0).count, 2);
  EXPECT_EQ(LayersOn(placement, 1, ModelPart::kEncoder, 0).count, 1);
  EXPECT_EQ(LayersOn(placement, 1, ModelPart::kDecoder, 1).count, 1);
  EXPECT_EQ(LayersOn(placement, 3, ModelPart::kDecoder, 1).count, 2);
  EXPECT_EQ(placement.encoder_last_stage(), 1);
  EXPECT_EQ(placement.decoder_first_stage(), 1);
}

TEST(LayerPlacement, FeedsTheOnlyStackOnTheFirstStage) {
  const LayerPlacement placement(TwoKinds(),
                                 {.pipeline_parallel_size = 3, .layers_per_chunk = {0, 8, 0}});
  EXPECT_EQ(placement.decoder_first_stage(), 0);
  EXPECT_EQ(placement.encoder_last_stage(), 2);
}

}  // namespace
}  // namespace sextant
