// The trace of random models against the two counts that know nothing of it: FLOPs of the whole
// model, and the ledger's activations.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/memory/activations/activations.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/saved_products.h"
#include "engine/model/presets/presets.h"
#include "gtest/gtest.h"
#include "tests/engine/memory/ledger/random_job.h"
#include "tests/engine/model/block/random_mixers.h"
#include "tests/engine/model/trace/traced_model.h"

namespace sextant {
namespace {

constexpr uint32_t kJobs = 500;

// With `again`: as Transformer Engine exchanges heads. False where the model's heads don't divide.
bool ExchangeHeads(bool again, RandomJob& drawn) {
  MicroBatchSpec& batch = drawn.job.batch;
  batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  batch.exchanges_output_again = again;
  FieldViolations violations;
  CheckMicroBatch(batch, drawn.spec, drawn.job.layout, violations);
  return violations.all().empty() && batch.context_parallel_size > 1;
}

// FLOPs by place, with one entry for scores and values, which fused attention computes as one.
using FlopsByPlace = std::map<std::string, std::array<double, 4>>;

std::string PlaceOf(ModelPart part, int kind, FlopsComponent component) {
  if (component == FlopsComponent::kAttentionValues) component = FlopsComponent::kAttentionScores;
  return absl::StrCat(ModelPartName(part), " ", kind, " ", FlopsComponentName(component));
}

FlopsByPlace Counted(const ArchitectureSpec& spec, const MicroBatchSpec& batch) {
  const TrainingStepSpec step = {
      .sequences = {{batch.sequence_count, batch.sequence_length, batch.encoder_sequence_length}},
      .recompute = batch.recomputation.policy};
  const StepFlops counted = CountFlops(spec, WeightsOf(spec), step, FlopsDetail::kComponents);
  FlopsByPlace out;
  for (const ComponentFlops& component : counted.components) {
    auto& sums = out[PlaceOf(component.part, component.layer_kind, component.component)];
    const PassFlops flops =
        component.per_token[static_cast<size_t>(MaskConvention::kCausalDiagonal)] *
        static_cast<double>(counted.tokens);
    sums[0] += flops.forward.value();
    sums[1] += flops.recompute.value();
    sums[2] += flops.input_gradient.value();
    sums[3] += flops.weight_gradient.value();
  }
  return out;
}

FlopsByPlace Traced(const TracedModel& model, double ranks) {
  FlopsByPlace out;
  for (const TracedModel::Piece& piece : model.pieces()) {
    for (const TraceOp& op : piece.trace.ops) {
      if (op.flops == 0) continue;
      ModelPart part = piece.part;
      // An input's projection serves both stacks.
      if (op.component == FlopsComponent::kEmbeddingProjection && op.name == "into") {
        part = ModelPart::kInput;
      }
      if (op.component == FlopsComponent::kAdapter && op.module == "token_embedding" &&
          op.name == "adapter") {
        part = ModelPart::kInput;
      }
      out[PlaceOf(part, piece.layer_kind, op.component)][static_cast<size_t>(op.pass)] +=
          op.model_flops * ranks;
    }
  }
  return out;
}

void ExpectCountedFlops(const RandomJob& drawn, uint32_t seed) {
  MicroBatchSpec batch = drawn.job.batch;
  batch.attention = AttentionKernel::kFlash;
  const GradientFlow flow(drawn.spec);
  const TraceContext context = {.spec = drawn.spec,
                                .layout = drawn.job.layout,
                                .batch = batch,
                                .flow = &flow,
                                .fused_projections = seed % 2 == 0};
  const auto ranks =
      static_cast<double>(drawn.job.layout.tensor_parallel_size * batch.context_parallel_size);
  const FlopsByPlace counted = Counted(drawn.spec, batch);
  const FlopsByPlace traced = Traced(TracedModel(context), ranks);
  for (const auto& [place, sums] : counted) {
    const auto found = traced.find(place);
    ASSERT_NE(found, traced.end()) << "seed " << seed << " " << place;
    for (size_t pass = 0; pass < sums.size(); ++pass) {
      EXPECT_NEAR(found->second[pass], sums[pass], 1e-9 * sums[0])
          << "seed " << seed << " " << place << " pass " << pass;
    }
  }
  EXPECT_EQ(traced.size(), counted.size()) << "seed " << seed;
}

TEST(RandomTraceTest, FlopsAreTheCountsExactly) {
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    ExpectCountedFlops(DrawJob(seed), seed);
  }
}

// Recomputes the job by operator. False where its model's operators are not known.
bool RecomputeByOperator(RandomJob& drawn) {
  drawn.job.batch.recomputation = {.policy = RecomputePolicy::kOperators};
  drawn.job.batch.attention = AttentionKernel::kFlash;
  drawn.spec.adapters.reset();
  drawn.job.batch.adapter_dropout = false;
  return PartOfUnknownOperators(drawn.spec).empty();
}

TEST(RandomTraceTest, FlopsByOperatorAreTheCounts) {
  int64_t jobs = 0;
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    RandomJob drawn = DrawJob(seed);
    if (!RecomputeByOperator(drawn)) continue;
    ExpectCountedFlops(drawn, seed);
    ++jobs;
  }
  EXPECT_GT(jobs, 50);
}

// Gives the job's model mixers. False where none of its layers can have one under its layout.
bool AddMixers(uint32_t seed, RandomJob& drawn) {
  if (!MixerDraw(seed).AddTo(drawn.spec, drawn.job.layout)) return false;
  drawn.job.layout.split_key_value_heads = false;
  FieldViolations violations;
  CheckArchitecture(drawn.spec, "model", violations);
  CheckLayout(drawn.spec, drawn.job.layout, "layout", violations);
  CheckMicroBatch(drawn.job.batch, drawn.spec, drawn.job.layout, violations);
  EXPECT_TRUE(violations.all().empty()) << violations.ToStatus();
  return violations.all().empty();
}

TEST(RandomTraceTest, FlopsOfMixersAreTheCounts) {
  int64_t jobs = 0;
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    RandomJob drawn = DrawJob(seed);
    if (!AddMixers(seed, drawn)) continue;
    ExpectCountedFlops(drawn, seed);
    ++jobs;
  }
  EXPECT_GT(jobs, 200);
}

// Ranks that exchange heads compute as much together as one does.
TEST(RandomTraceTest, FlopsAreTheCountsWhereHeadsAreExchanged) {
  int64_t jobs = 0;
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    RandomJob drawn = DrawJob(seed);
    if (!ExchangeHeads(seed % 3 == 0, drawn)) continue;
    ExpectCountedFlops(drawn, seed);
    ++jobs;
  }
  EXPECT_GT(jobs, 100);
}

// The layers' kept bytes by the trace are those of the ledger. Returns the number of layers.
int64_t CompareKept(const TraceContext& context, const std::string& what) {
  int64_t layers = 0;
  const ActivationContext activations = {context.spec, context.layout, context.batch, context.flow};
  const TracedModel model(context);
  for (const TracedModel::Piece& piece : model.pieces()) {
    if (piece.layer_kind < 0) continue;
    const ActivationPlace place = {
        .part = piece.part,
        .layer_kind = piece.layer_kind,
        .gradients = &context.flow->Of(piece.part, piece.layer_kind, piece.state),
        .state = piece.state};
    LayerWalks walks;
    double expected = 0;
    if (context.batch.recomputation.policy == RecomputePolicy::kFull) {
      const bool needs = place.gradients->needs.Has(ActivationSite::kLayerOutput);
      if (needs) expected = piece.trace.tensors.front().bytes();
    } else {
      expected = static_cast<double>(walks.Of(activations, place).kept.value());
    }
    ++layers;
    EXPECT_EQ(KeptBytes(piece.trace), expected)
        << what << " part " << ModelPartName(piece.part) << " kind " << piece.layer_kind
        << " frozen " << piece.state.frozen << " needs " << piece.state.input_needs_gradient;
    if (testing::Test::HasFailure()) break;
  }
  return layers;
}

TEST(RandomTraceTest, KeptTensorsAreTheLedgers) {
  int64_t layers = 0;
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    const RandomJob drawn = DrawJob(seed);
    const GradientFlow flow(drawn.spec);
    layers += CompareKept(
        {.spec = drawn.spec, .layout = drawn.job.layout, .batch = drawn.job.batch, .flow = &flow},
        absl::StrCat("seed ", seed));
  }
  EXPECT_GT(layers, 1000);
}

// Ranks that scatter sums save these apart from their parts, and those that exchange tokens what
// they receive, which the trace has as one: OperatorActivationsTest counts them.
TEST(RandomTraceTest, KeptTensorsByOperatorAreTheLedgers) {
  int64_t layers = 0;
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    RandomJob drawn = DrawJob(seed);
    if (!RecomputeByOperator(drawn)) continue;
    if (drawn.job.layout.expert_parallel_size > 1) continue;
    drawn.job.batch.sequence_parallel = false;
    const GradientFlow flow(drawn.spec);
    layers += CompareKept(
        {.spec = drawn.spec, .layout = drawn.job.layout, .batch = drawn.job.batch, .flow = &flow},
        absl::StrCat("seed ", seed));
  }
  EXPECT_GT(layers, 100);
}

TEST(RandomTraceTest, KeptTensorsOfMixersAreTheLedgers) {
  int64_t layers = 0;
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    RandomJob drawn = DrawJob(seed);
    if (!AddMixers(seed, drawn)) continue;
    const GradientFlow flow(drawn.spec);
    layers += CompareKept({.spec = drawn.spec,
                           .layout = drawn.job.layout,
                           .batch = drawn.job.batch,
                           .flow = &flow,
                           .narrow_products = seed % 3 == 0},
                          absl::StrCat("seed ", seed));
  }
  EXPECT_GT(layers, 500);
}

TEST(RandomTraceTest, KeptTensorsAreTheLedgersWhereHeadsAreExchanged) {
  int64_t layers = 0;
  for (uint32_t seed = 0; seed < kJobs && !HasFailure(); ++seed) {
    for (const bool again : {false, true}) {
      RandomJob drawn = DrawJob(seed);
      if (!ExchangeHeads(again, drawn)) continue;
      const GradientFlow flow(drawn.spec);
      layers += CompareKept(
          {.spec = drawn.spec, .layout = drawn.job.layout, .batch = drawn.job.batch, .flow = &flow},
          absl::StrCat("seed ", seed, " again ", again));
    }
  }
  EXPECT_GT(layers, 500);
}

// Each switch of a micro-batch: kernels that keep more or less, and what is computed again.
TEST(PresetTraceTest, KeptTensorsAreTheLedgersUnderEachSwitch) {
  for (const char* preset : {"llama-3.1-8b", "gpt3-175b", "mixtral-8x7b", "deepseek-v3"}) {
    const ArchitectureSpec& spec = FindModelPreset(preset).value()->architecture;
    const GradientFlow flow(spec);
    const bool latent = spec.layer_kinds[0].attention->latent.has_value();
    for (uint32_t bits = 0; bits < 512 && !HasFailure(); ++bits) {
      const auto bit = [bits](uint32_t i) { return (bits >> i & 1) != 0; };
      MicroBatchSpec batch = {.sequence_count = 2, .sequence_length = 64};
      if (bit(0)) batch.matmul_input_data_type = DataType::kFp8E4m3;
      batch.attention_output_copied = bit(1);
      batch.recomputation.activation_function = bit(2);
      batch.recomputation.norm_outputs = bit(3);
      batch.recomputation.latent_up_projections = bit(4) && latent;
      batch.fused_expert_activation = bit(5);
      if (bit(6)) batch.expert_scaling = ExpertScaling::kAfterDown;
      if (bit(7)) batch.recomputation.policy = RecomputePolicy::kSelective;
      batch.dropout = bit(8);
      if (bits % 5 > 2 && !batch.recomputation.latent_up_projections) {
        batch.context_parallel_size = bits % 7 == 0 ? 32 : 4;
        batch.context_parallel_kind = ContextParallelKind::kAllToAll;
        batch.exchanges_output_again = bits % 5 == 4;
      }
      ParallelLayout layout;
      if (bits % 11 < 4 && !bit(6) && spec.layer_kinds.back().experts.has_value()) {
        layout.expert_parallel_size = 4;
        batch.expert_dispatch = ExpertDispatch::kAllGather;
      }
      const TraceContext context = {.spec = spec,
                                    .layout = layout,
                                    .batch = batch,
                                    .flow = &flow,
                                    .narrow_products = bits % 3 == 0};
      EXPECT_GT(CompareKept(context, absl::StrCat(preset, " switches ", bits)), 0);
    }
  }
}

}  // namespace
}  // namespace sextant
