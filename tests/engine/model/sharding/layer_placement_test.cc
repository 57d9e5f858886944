// Layers on stages, in chunks of equal and of given lengths.
#include "engine/model/sharding/layer_placement.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/sharding/random_sharding.h"

namespace sextant {
namespace {

// 8 layers of kinds 0 0 0 1 1 0 1 1, of which the fourth and the fifth are frozen.
ArchitectureSpec TwoKindsOfLayers() {
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
  const LayerPlacement placement(TwoKindsOfLayers(), {.pipeline_parallel_size = 2});
  ExpectLayers(placement, 0, 0, {3, 3});
  ExpectLayers(placement, 0, 1, {1, 0});
  ExpectLayers(placement, 1, 0, {1, 1});
  ExpectLayers(placement, 1, 1, {3, 2});
  EXPECT_EQ(placement.ChunkOf(1, 0).first, 4);
  EXPECT_EQ(placement.ChunkOf(1, 0).count, 4);
}

// Megatron-LM's own example: 8 layers, 2 stages, 2 chunks each: [0 1][4 5] and [2 3][6 7].
TEST(LayerPlacement, InterleavesChunks) {
  const LayerPlacement placement(TwoKindsOfLayers(),
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
  const LayerPlacement placement(TwoKindsOfLayers(),
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
  const LayerPlacement placement(TwoKindsOfLayers(),
                                 {.pipeline_parallel_size = 3, .layers_per_chunk = {0, 8, 0}});
  EXPECT_EQ(placement.decoder_first_stage(), 0);
  EXPECT_EQ(placement.encoder_last_stage(), 2);
}

// Pieces of chunks and kinds on stages of random models, compared with a list of single layers.
struct SingleLayer {
  ModelPart part;
  int layer_kind;
  bool frozen;
};

std::vector<SingleLayer> SingleLayersOf(const ArchitectureSpec& spec) {
  std::vector<SingleLayer> out;
  const auto add = [&out](ModelPart part, const StackSpec& stack) {
    for (const LayerRun& run : stack.layers) {
      for (int64_t i = 0; i < run.count; ++i) out.push_back({part, run.layer_kind, run.frozen});
    }
  };
  add(ModelPart::kEncoder, spec.encoder);
  add(ModelPart::kDecoder, spec.decoder);
  return out;
}

// Every other run is cut in two, and every third one is frozen.
ArchitectureSpec WithMoreRuns(ArchitectureSpec spec) {
  for (StackSpec* stack : {&spec.encoder, &spec.decoder}) {
    std::vector<LayerRun> runs;
    for (const LayerRun& run : stack->layers) {
      const int64_t first = runs.size() % 2 == 0 && run.count > 1 ? run.count / 2 : run.count;
      runs.push_back(run);
      runs.back().count = first;
      runs.back().frozen = runs.size() % 3 == 0;
      if (first == run.count) continue;
      runs.push_back(run);
      runs.back().count = run.count - first;
    }
    stack->layers = runs;
  }
  return spec;
}

TEST(LayerPieces, AreTheLayersOfTheirChunk) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const RandomSharding drawn = DrawSharding(seed);
    const ArchitectureSpec spec = WithMoreRuns(drawn.spec);
    const LayerPlacement placement(spec, drawn.layout);
    const std::vector<SingleLayer> layers = SingleLayersOf(spec);
    for (int64_t stage = 0; stage < placement.stage_count(); ++stage) {
      for (int64_t chunk = 0; chunk < placement.chunk_count(); ++chunk) {
        const LayerRange range = placement.ChunkOf(stage, chunk);
        int64_t next = range.first;
        for (const LayerPiece& piece : placement.PiecesOf(stage, chunk)) {
          ASSERT_EQ(piece.layers.first, next) << seed;
          for (int64_t i = 0; i < piece.layers.count; ++i, ++next) {
            const SingleLayer& layer = layers[static_cast<size_t>(next)];
            ASSERT_EQ(piece.part, layer.part) << seed;
            ASSERT_EQ(piece.layer_kind, layer.layer_kind) << seed;
            ASSERT_EQ(piece.frozen, layer.frozen) << seed;
          }
        }
        ASSERT_EQ(next, range.first + range.count) << seed;
      }
    }
  }
}

TEST(LayerPieces, AddUpToTheKindsOfTheirStage) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const RandomSharding drawn = DrawSharding(seed);
    const ArchitectureSpec spec = WithMoreRuns(drawn.spec);
    const LayerPlacement placement(spec, drawn.layout);
    for (int64_t stage = 0; stage < placement.stage_count(); ++stage) {
      size_t kinds = 0;
      for (const ModelPart part : {ModelPart::kEncoder, ModelPart::kDecoder}) {
        for (size_t kind = 0; kind < spec.layer_kinds.size(); ++kind) {
          KindLayers sum;
          for (int64_t chunk = 0; chunk < placement.chunk_count(); ++chunk) {
            for (const LayerPiece& piece : placement.PiecesOf(stage, chunk)) {
              if (piece.part != part || piece.layer_kind != static_cast<int>(kind)) continue;
              sum.count += piece.layers.count;
              if (!piece.frozen) sum.not_frozen += piece.layers.count;
            }
          }
          if (sum.count == 0) continue;
          const absl::Span<const StageKind> on = placement.KindsOn(stage);
          ASSERT_LT(kinds, on.size()) << seed;
          EXPECT_EQ(on[kinds].part, part) << seed;
          EXPECT_EQ(on[kinds].layer_kind, static_cast<int>(kind)) << seed;
          EXPECT_EQ(on[kinds].layers.count, sum.count) << seed;
          EXPECT_EQ(on[kinds].layers.not_frozen, sum.not_frozen) << seed;
          ++kinds;
        }
      }
      EXPECT_EQ(placement.KindsOn(stage).size(), kinds) << seed;
    }
  }
}

}  // namespace
}  // namespace sextant
