// Properties of any model under any layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/sharding/random_sharding.h"

namespace sextant {
namespace {

constexpr uint32_t kPropertyModels = 200;
constexpr StagePhase kPhases[] = {StagePhase::kForward, StagePhase::kLoss, StagePhase::kHead,
                                  StagePhase::kLayer};

TransientCase TransientDraw(uint32_t seed) {
  const RandomSharding drawn = DrawSharding(seed);
  TransientCase c = {.base = {.spec = drawn.spec, .layout = drawn.layout}};
  c.base.spec.encoder.learned_position_count = c.base.spec.decoder.learned_position_count = 0;
  MicroBatchSpec& batch = c.base.batch;
  batch.context_parallel_size = 1 + seed % 2;
  const int64_t ranks = batch.context_parallel_size * c.base.layout.tensor_parallel_size;
  batch.sequence_length = ranks * (1 + seed % 5);
  const bool two = !c.base.spec.encoder.layers.empty() && !c.base.spec.decoder.layers.empty();
  batch.encoder_sequence_length = two ? ranks * (1 + seed % 4) : 0;
  batch.dropout = seed % 2 == 0;
  batch.sequence_parallel = seed % 4 < 2;
  batch.attention = seed % 3 == 0 ? AttentionKernel::kUnfused : AttentionKernel::kFlash;
  batch.loss = static_cast<LossKind>(seed % 3);
  c.buffers.fused_weight_gradient = seed % 5 > 0;
  return c;
}

void ForEachTransientStage(const std::function<void(TransientCase&, int64_t)>& check) {
  for (uint32_t seed = 0; seed < kPropertyModels; ++seed) {
    SCOPED_TRACE(seed);
    TransientCase c = TransientDraw(seed);
    const GradientFlow flow(c.base.spec);
    if (seed % 2 == 1) c.flow = &flow;
    for (int64_t stage = 0; stage < c.base.layout.pipeline_parallel_size; ++stage) {
      TransientCase copy = c;
      check(copy, stage);
    }
  }
}

int64_t KeptOn(const TransientCase& c, int64_t stage) {
  return c.With(
      stage, [](const TransientContext&, const StageParts& kept) { return kept.total().value(); });
}

TEST(TransientProperties, RowsAddUp) {
  ForEachTransientStage([](TransientCase& c, int64_t stage) {
    for (const auto policy :
         {RecomputePolicy::kNone, RecomputePolicy::kSelective, RecomputePolicy::kFull}) {
      c.base.batch.recomputation = {.policy = policy};
      if (policy == RecomputePolicy::kFull) c.base.batch.recomputation.layers_per_block = 2;
      for (const StagePhase phase : kPhases) {
        SCOPED_TRACE(static_cast<int>(policy) * 10 + static_cast<int>(phase));
        int64_t sum = 0;
        for (const LedgerRow& row : c.Rows(phase, stage)) {
          EXPECT_EQ(row.size.value(), row.elements * row.element_bits / 8 * row.layers);
          EXPECT_GT(row.size.value(), 0);
          EXPECT_FALSE(row.name.empty() || row.alive.empty() || row.why.empty());
          EXPECT_FALSE(row.shape.empty() || row.source.empty() ||
                       (row.element_kind == RowElements::kNumber &&
                        row.data_type == DataType::kUnspecified));
          sum += row.size.value();
        }
        EXPECT_EQ(sum, c.Added(phase, stage));
      }
    }
  });
}

TEST(TransientProperties, NoMoreIsFreedThanWasKept) {
  ForEachTransientStage([](TransientCase& c, int64_t stage) {
    for (const StagePhase phase : kPhases) {
      EXPECT_LE(c.Freed(phase, stage), KeptOn(c, stage));
      EXPECT_GE(c.Freed(phase, stage), 0);
    }
  });
}

TEST(TransientProperties, TwiceTheSequencesNeverTakeLess) {
  ForEachTransientStage([](TransientCase& c, int64_t stage) {
    TransientCase twice = c;
    twice.base.batch.sequence_count *= 2;
    for (const StagePhase phase : kPhases) {
      const PhaseBytes one = c.Of(stage).At(phase);
      const PhaseBytes two = twice.Of(stage).At(phase);
      EXPECT_GE(KeptOn(twice, stage) + (two.added - two.freed).value(),
                KeptOn(c, stage) + (one.added - one.freed).value());
    }
  });
}

// Activations that are not kept are recomputed: recomputing a layer does not lower the peak of a
// stage of one micro-batch, and kept plus recomputed activations equal those kept without
// recomputation.
TEST(TransientProperties, OneLayerTakesNoLessForBeingComputedAgain) {
  ForEachTransientStage([](TransientCase& c, int64_t stage) {
    if (stage > 0) return;
    for (LayerRun& run : c.base.spec.decoder.layers) run.count = std::min<int64_t>(run.count, 1);
    // Chunks were of the layers that there were.
    c.base.layout.pipeline_parallel_size = c.base.layout.virtual_stage_count = 1;
    c.base.layout.layers_per_chunk = {};
    const auto peak = [&] {
      const PhaseBytes layer = c.Of(stage).At(StagePhase::kLayer);
      return (layer.added - layer.freed).value();
    };
    const int64_t none = peak();
    c.base.batch.recomputation.policy = RecomputePolicy::kSelective;
    const int64_t selective = peak();
    c.base.batch.recomputation.policy = RecomputePolicy::kFull;
    EXPECT_GE(selective, none);
    EXPECT_GE(peak(), selective);
  });
}

}  // namespace
}  // namespace sextant
