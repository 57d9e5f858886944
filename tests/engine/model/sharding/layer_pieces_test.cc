// Pieces of chunks and kinds on stages of random models, compared with a list of single layers.
#include <gtest/gtest.h>

#include <vector>

#include "engine/model/sharding/layer_placement.h"
#include "tests/engine/model/sharding/random_sharding.h"

namespace sextant {
namespace {

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
