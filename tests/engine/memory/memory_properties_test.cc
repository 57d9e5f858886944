// Properties of the activations and transients of any model under any layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/sharding/random_sharding.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr uint32_t kActivationModels = 300;

// A random model and layout with a micro-batch whose tokens divide by all ranks.
ActivationCase ActivationDraw(uint32_t seed) {
  const RandomSharding drawn = DrawSharding(seed);
  ActivationCase c = {.spec = drawn.spec, .layout = drawn.layout};
  c.spec.encoder.learned_position_count = c.spec.decoder.learned_position_count = 0;
  MicroBatchSpec& batch = c.batch;
  batch.context_parallel_size = 1 + seed % 2;
  batch.sequence_count = 1 + seed % 3;
  const int64_t ranks = batch.context_parallel_size * c.layout.tensor_parallel_size;
  batch.sequence_length = ranks * (1 + seed % 5);
  const bool two_stacks = !c.spec.encoder.layers.empty() && !c.spec.decoder.layers.empty();
  batch.encoder_sequence_length = two_stacks ? ranks * (1 + seed % 4) : 0;
  batch.dropout = seed % 2 == 0;
  batch.sequence_parallel = seed % 4 < 2;
  batch.attention = seed % 3 == 0 ? AttentionKernel::kUnfused : AttentionKernel::kFlash;
  batch.loss = static_cast<LossKind>(seed % 3);
  return c;
}

void ForEachActivationStage(const std::function<void(const ActivationCase&, int64_t)>& check) {
  for (uint32_t seed = 0; seed < kActivationModels; ++seed) {
    SCOPED_TRACE(seed);
    const ActivationCase c = ActivationDraw(seed);
    FieldViolations violations;
    CheckMicroBatch(c.batch, c.spec, c.layout, violations);
    ASSERT_THAT(violations.ToStatus(), IsOk());
    for (int64_t stage = 0; stage < c.layout.pipeline_parallel_size; ++stage) check(c, stage);
  }
}

TEST(ActivationProperties, RowsAddUp) {
  ForEachActivationStage([](const ActivationCase& c, int64_t stage) {
    ActivationTensors rows;
    const int64_t total = StageBytes(c, stage, &rows);
    EXPECT_EQ(total, StageBytes(c, stage));
    int64_t sum = 0;
    for (const ActivationTensor& row : rows) {
      EXPECT_EQ(row.size.value(), row.elements * row.element_bytes);
      EXPECT_GT(row.size.value(), 0);
      EXPECT_FALSE(row.module.empty() || row.name.empty() || row.shape.empty());
      EXPECT_FALSE(
          row.kept_for.empty() || row.source.empty() ||
          (row.element_kind == RowElements::kNumber && row.data_type == DataType::kUnspecified));
      sum += row.size.value() * row.layers;
    }
    EXPECT_EQ(sum, total);
  });
}

TEST(ActivationProperties, TwiceTheSequencesAreTwiceTheBytes) {
  ForEachActivationStage([](const ActivationCase& c, int64_t stage) {
    ActivationCase twice = c;
    twice.batch.sequence_count *= 2;
    EXPECT_EQ(StageBytes(twice, stage), 2 * StageBytes(c, stage));
    ActivationCase chunked = c;
    chunked.batch.loss = twice.batch.loss = LossKind::kChunked;
    chunked.batch.loss_chunk_tokens = twice.batch.loss_chunk_tokens = 3;
    EXPECT_GE(StageBytes(twice, stage), StageBytes(chunked, stage));
  });
}

TEST(ActivationProperties, MoreRecomputationNeverTakesMore) {
  ForEachActivationStage([](const ActivationCase& c, int64_t stage) {
    const int64_t none = StageBytes(c, stage);
    ActivationCase less = c;
    Recomputation& again = less.batch.recomputation;
    int64_t last = none;
    const auto expect_less = [&] {
      const int64_t now = StageBytes(less, stage);
      EXPECT_LE(now, last);
      last = now;
    };
    again.policy = RecomputePolicy::kSelective;
    expect_less();
    again.activation_function = true;
    expect_less();
    again.latent_up_projections = true;
    expect_less();
    again.norm_outputs = true;
    expect_less();
    again = {.policy = RecomputePolicy::kFull};
    expect_less();
    for (again.layers_per_block = 2; again.layers_per_block < 6; ++again.layers_per_block) {
      EXPECT_LE(StageBytes(less, stage), last);
    }
  });
}

// Ranks beyond the heads of keys and values share them; tested by hand.
bool MayBeShared(const ActivationTensor& row) {
  return row.name == "key" || row.name == "value" || row.name == "key_norm_input";
}

// A row says among whom it is divided: by t ranks into t parts, or not at all. Experts that fewer
// ranks than t share are tested by hand.
TEST(ActivationProperties, RanksDivideWhatTheRowsSay) {
  ForEachActivationStage([](const ActivationCase& c, int64_t stage) {
    ActivationCase alone = c;
    alone.layout.tensor_parallel_size = 1;
    alone.layout.expert_tensor_parallel_size = 1;
    if (ExpertTensorParallelSize(c.layout) != c.layout.tensor_parallel_size) return;
    ActivationTensors cut;
    ActivationTensors whole;
    StageBytes(c, stage, &cut);
    StageBytes(alone, stage, &whole);
    ASSERT_EQ(cut.size(), whole.size());
    const int64_t ranks = c.layout.tensor_parallel_size;
    for (size_t i = 0; i < cut.size(); ++i) {
      if (MayBeShared(cut[i])) continue;
      SCOPED_TRACE(std::string(cut[i].module) + "." + std::string(cut[i].name));
      const bool divided = cut[i].cut == ActivationCut::kTensor ||
                           cut[i].cut == ActivationCut::kExpertFeatures ||
                           (cut[i].cut == ActivationCut::kSequence && c.batch.sequence_parallel);
      EXPECT_EQ(cut[i].elements * (divided ? ranks : 1), whole[i].elements);
    }
  });
}

TEST(ActivationProperties, ContextRanksShareAllTokens) {
  ForEachActivationStage([](const ActivationCase& c, int64_t stage) {
    if (c.spec.output.pooler) return;  // of the first token, which one rank has
    ActivationCase alone = c;
    alone.batch.context_parallel_size = 1;
    EXPECT_EQ(StageBytes(alone, stage), StageBytes(c, stage) * c.batch.context_parallel_size);
  });
}

constexpr uint32_t kTransientModels = 200;
constexpr StagePhase kPhases[] = {StagePhase::kForward, StagePhase::kLoss, StagePhase::kHead,
                                  StagePhase::kLayer};

TransientCase TransientDraw(uint32_t seed) {
  TransientCase c = {.base = ActivationDraw(seed)};
  c.base.batch.sequence_count = 1;
  c.buffers.fused_weight_gradient = seed % 5 > 0;
  return c;
}

void ForEachTransientStage(const std::function<void(TransientCase&, int64_t)>& check) {
  for (uint32_t seed = 0; seed < kTransientModels; ++seed) {
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
