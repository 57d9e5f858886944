// FLOPs of small models, worked by hand.
#include "engine/model/flops/count_flops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/flops/flops_cases.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// "decoder/attention_scores": forward FLOPs a token under `mask`.
std::map<std::string, double> ForwardOf(const StepFlops& flops, MaskConvention mask) {
  std::map<std::string, double> out;
  for (const ComponentFlops& row : flops.components) {
    const std::string key =
        absl::StrCat(ModelPartName(row.part), "/", FlopsComponentName(row.component));
    EXPECT_EQ(out.count(key), 0u) << key << " is there twice";
    out[key] = row.per_token[static_cast<size_t>(mask)].forward.value();
  }
  return out;
}

// Hidden 8, 2 layers, 4 query and 2 key heads of 2, gated 32, vocabulary 100, 16 tokens.
TEST(CountFlops, OfASmallDecoder) {
  const StepFlops flops = Counted(SmallDecoder(), {.sequences = {{3, 16}}});
  EXPECT_EQ(flops.tokens, 48);
  EXPECT_THAT(
      ForwardOf(flops, MaskConvention::kFull),
      UnorderedElementsAre(Pair("decoder/attention_query_key_value", 2 * 2 * (8 * 8 + 2 * 4 * 8)),
                           Pair("decoder/attention_scores", 2 * 2 * 16 * 8),
                           Pair("decoder/attention_values", 2 * 2 * 16 * 8),
                           Pair("decoder/attention_output", 2 * 2 * 8 * 8),
                           Pair("decoder/feed_forward", 2 * 2 * 3 * 32 * 8),
                           Pair("output/output_head", 2 * 100 * 8)));
  const double products = 512 + 256 + 3072 + 1600;
  EXPECT_EQ(flops.PerToken(MaskConvention::kFull).forward.value(), products + 1024);
  EXPECT_EQ(flops.PerToken(MaskConvention::kCausal).forward.value(), products + 512);
  EXPECT_EQ(flops.PerToken(MaskConvention::kCausalDiagonal).forward.value(), products + 544);
  const PassFlops causal = flops.PerToken(MaskConvention::kCausal);
  EXPECT_EQ(causal.input_gradient.value(), products + 2 * 512);  // all gradients of attention
  EXPECT_EQ(causal.weight_gradient.value(), products);
  EXPECT_EQ(flops.PerStep(MaskConvention::kCausal).Model().value(), 48 * 3 * (products + 512));
}

// 2 of 4 experts of size 3, and the router's 4 x 8.
TEST(CountFlops, OfAMixture) {
  ArchitectureSpec spec = SmallMixture();
  ExpertsSpec& experts = *spec.layer_kinds[0].experts;
  experts.shared_expert_count = 2;
  experts.shared_expert = Plain(5);
  experts.shared_expert_gate = true;
  auto forward = ForwardOf(Counted(spec, {.sequences = {{1, 16}}}), MaskConvention::kFull);
  EXPECT_EQ(forward["decoder/router"], 2 * 2 * 4 * 8);
  EXPECT_EQ(forward["decoder/routed_experts"], 2 * 2 * 2 * 3 * 3 * 8);
  EXPECT_EQ(forward["decoder/shared_experts"], 2 * 2 * (2 * 2 * 5 * 8 + 8));
}

// Decoder of 4 tokens, encoder of 10: the encoder's products run 2.5 times a decoder token, and
// so do the projections of its output.
TEST(CountFlops, OfAnEncoderAndADecoder) {
  const StepFlops flops = Counted(SmallEncoderDecoder(), {.sequences = {{3, 4, 10}}});
  EXPECT_EQ(flops.tokens, 12);
  auto full = ForwardOf(flops, MaskConvention::kFull);
  EXPECT_EQ(full["encoder/attention_query_key_value"], 2.5 * 2 * 3 * 8 * 8);
  EXPECT_EQ(full["encoder/attention_scores"], 2.5 * 2 * 10 * 8);
  EXPECT_EQ(full["decoder/attention_query_key_value"],
            2 * 3 * 8 * 8 + 2 * 8 * 8 + 2.5 * 2 * 2 * 8 * 8);
  EXPECT_EQ(full["decoder/attention_scores"], 2 * 4 * 8 + 2 * 10 * 8);
  auto causal = ForwardOf(flops, MaskConvention::kCausal);
  EXPECT_EQ(causal["encoder/attention_scores"], full["encoder/attention_scores"]);
  EXPECT_EQ(causal["decoder/attention_scores"], 2 * 2 * 8 + 2 * 10 * 8);
}

// A tied head of a narrow embedding: padded rows times the embedding's size, a projection each
// way. The lookup is free.
TEST(CountFlops, OfATiedHeadOfANarrowEmbedding) {
  ArchitectureSpec spec = SmallDecoder();
  spec.embedding.embedding_size = 3;
  spec.embedding.padded_vocabulary_size = 128;
  spec.output.head = OutputHeadKind::kTied;
  auto forward = ForwardOf(Counted(spec, {.sequences = {{1, 16}}}), MaskConvention::kFull);
  EXPECT_EQ(forward["output/output_head"], 2 * 128 * 3);
  EXPECT_EQ(forward["input/embedding_projection"], 2 * 3 * 8);
  EXPECT_EQ(forward["output/embedding_projection"], 2 * 3 * 8);
}

// Each module: a projection from 16 to 8, a layer and a pass of the head.
TEST(CountFlops, OfMultiTokenPrediction) {
  ArchitectureSpec spec = SmallDecoder();
  spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 3};
  auto forward = ForwardOf(Counted(spec, {.sequences = {{1, 16}}}), MaskConvention::kFull);
  EXPECT_EQ(forward["multi_token_prediction/multi_token_projection"], 3 * 2 * 16 * 8);
  EXPECT_EQ(forward["multi_token_prediction/output_head"], 3 * 2 * 100 * 8);
  EXPECT_EQ(forward["multi_token_prediction/feed_forward"],
            3 * forward["decoder/feed_forward"] / 2);
  EXPECT_EQ(forward["multi_token_prediction/attention_scores"],
            3 * forward["decoder/attention_scores"] / 2);
}

// Latent attention multiplies heads of 6 for scores and of 4 for values.
TEST(CountFlops, OfLatentAttention) {
  ArchitectureSpec spec = SmallDecoder();
  AttentionSpec& attention = *spec.layer_kinds[0].attention;
  attention = Heads(4, 4, 6);
  attention.value_head_size = 4;
  attention.latent = LatentSpec{.query_rank = 5, .key_value_rank = 7, .rotary_size = 2};
  auto forward = ForwardOf(Counted(spec, {.sequences = {{1, 16}}}), MaskConvention::kFull);
  EXPECT_EQ(forward["decoder/attention_scores"], 2 * 2 * 16 * 4 * 6);
  EXPECT_EQ(forward["decoder/attention_values"], 2 * 2 * 16 * 4 * 4);
  EXPECT_EQ(forward["decoder/attention_latent"],
            2 * 2 * (5 * 8 + 24 * 5 + (7 + 2) * 8 + 4 * (4 + 4) * 7));
}

// An indexer of 3 heads of 5 scores all 16 positions; attention sees 4 of them. Its matrices are 15
// x 5, 5 x 8 and 3 x 8; their inputs get no gradient.
TEST(CountFlops, OfAnIndexer) {
  ArchitectureSpec spec = SmallDecoder();
  AttentionSpec& attention = *spec.layer_kinds[0].attention;
  attention = Heads(4, 4, 6);
  attention.latent = LatentSpec{.query_rank = 5, .key_value_rank = 7, .rotary_size = 2};
  const StepFlops dense = Counted(spec, {.sequences = {{1, 16}}});
  attention.latent->indexer = IndexerSpec{.head_count = 3, .head_size = 5, .chosen_count = 4};
  const StepFlops flops = Counted(spec, {.sequences = {{1, 16}}});
  auto full = ForwardOf(flops, MaskConvention::kFull);
  EXPECT_EQ(full["decoder/attention_scores"], 2 * 2 * (4 * 4 * 6 + 16 * 3 * 5));
  EXPECT_EQ(full["decoder/attention_values"], 2 * 2 * 4 * 4 * 6);
  const double added = 2 * 2 * (15 * 5 + 5 * 8 + 3 * 8);
  EXPECT_EQ(full["decoder/attention_latent"],
            ForwardOf(dense, MaskConvention::kFull)["decoder/attention_latent"] + added);
  // Half of 16 positions, and 4 - 4 x 4 / 32 of them.
  auto causal = ForwardOf(flops, MaskConvention::kCausal);
  EXPECT_EQ(causal["decoder/attention_scores"], 2 * 2 * (3.5 * 4 * 6 + 8 * 3 * 5));
  const auto latent_of = [](const StepFlops& of) {
    for (const ComponentFlops& row : of.components) {
      if (row.component == FlopsComponent::kAttentionLatent) return row.per_token[0];
    }
    return PassFlops();
  };
  EXPECT_EQ(latent_of(flops).weight_gradient.value() - latent_of(dense).weight_gradient.value(),
            added);
  EXPECT_EQ(latent_of(flops).input_gradient.value(), latent_of(dense).input_gradient.value());
}

// The second of two layers attends to the 4 positions that the first has chosen.
TEST(CountFlops, OfASharedIndexer) {
  ArchitectureSpec spec = SmallDecoder();
  AttentionSpec& attention = *spec.layer_kinds[0].attention;
  attention = Heads(4, 4, 6);
  attention.latent = LatentSpec{
      .query_rank = 5, .key_value_rank = 7, .rotary_size = 2, .indexer = IndexerSpec{3, 5, 4}};
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "shared";
  spec.layer_kinds[1].attention->latent->indexer->shared = true;
  spec.decoder.layers = {{0, 1}, {1, 1}};
  std::map<FlopsComponent, double> shared;
  for (const ComponentFlops& row : Counted(spec, {.sequences = {{1, 16}}}).components) {
    if (row.layer_kind == 1) shared[row.component] = row.per_token[0].forward.value();
  }
  EXPECT_EQ(shared[FlopsComponent::kAttentionScores], 2 * 4 * 4 * 6);
  EXPECT_EQ(shared[FlopsComponent::kAttentionValues], 2 * 4 * 4 * 6);
  EXPECT_EQ(shared[FlopsComponent::kAttentionLatent],
            2 * (5 * 8 + 24 * 5 + (7 + 2) * 8 + 4 * (4 + 6) * 7));
}

// A gate is one more product of attention's input.
TEST(CountFlops, OfAnOutputGate) {
  ArchitectureSpec spec = SmallDecoder();
  auto without = ForwardOf(Counted(spec, {.sequences = {{1, 16}}}), MaskConvention::kFull);
  spec.layer_kinds[0].attention->output_gate = OutputGate::kPerChannel;
  auto with = ForwardOf(Counted(spec, {.sequences = {{1, 16}}}), MaskConvention::kFull);
  EXPECT_EQ(with["decoder/attention_query_key_value"],
            without["decoder/attention_query_key_value"] + 2 * 2 * 8 * 8);
}

// One token a sequence passes the pooler and the classifier.
TEST(CountFlops, OfAPooler) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  spec.layer_kinds.pop_back();
  spec.decoder.layers.clear();
  spec.output = {.head = OutputHeadKind::kNone, .pooler = true, .pooled_class_count = 3};
  auto forward = ForwardOf(Counted(spec, {.sequences = {{5, 16}}}), MaskConvention::kCausal);
  EXPECT_EQ(forward["output/pooler"], 2.0 * (8 * 8 + 3 * 8) / 16);
  EXPECT_EQ(forward["encoder/attention_scores"], 2 * 16 * 8);  // a full mask of its own
}

// A frozen front has no backward pass at all; the head's weight and all after it have.
TEST(CountFlops, OfAFrozenFront) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers = {{.layer_kind = 0, .count = 2, .frozen = true}};
  spec.decoder.final_norm = false;
  spec.frozen_components = {WeightComponent::kTokenEmbedding};
  const PassFlops head = Counted(spec, {.sequences = {{1, 16}}}).PerToken(MaskConvention::kFull);
  EXPECT_EQ(head.input_gradient.value(), 0);
  EXPECT_EQ(head.weight_gradient.value(), 2 * 100 * 8);
}

// LoRA on the queries alone: no weight gradient of the base; from the first layer's queries on
// everything needs the gradients of its inputs, but not that layer's keys and values.
TEST(CountFlops, OfAdaptersOnQueries) {
  ArchitectureSpec spec = SmallDecoder();
  spec.adapters = AdapterSpec{.rank = 1, .targets = {{"attention", "query"}}};
  spec.base_frozen = true;
  const PassFlops flops = Counted(spec, {.sequences = {{1, 16}}}).PerToken(MaskConvention::kFull);
  const double adapter = 2 * (8 + 8);
  EXPECT_EQ(flops.weight_gradient.value(), 2 * adapter);
  const double layer = 2 * (8 * 8 + 2 * 4 * 8 + 8 * 8 + 3 * 32 * 8);
  // Second layer: all of it, its adapter, and four products of attention. First: output,
  // feed-forward, the adapter's second matrix; dP and dQ.
  const double second = layer + adapter + 4 * 2 * 16 * 8;
  const double first = 2 * (8 * 8 + 3 * 32 * 8) + 2 * 8 + 2 * 2 * 16 * 8;
  EXPECT_EQ(flops.input_gradient.value(), first + second + 2 * 100 * 8);
}

// The same on query, key and value as one matrix of 16 rows: one first matrix, and in the first
// layer the gradients of keys and values, too.
TEST(CountFlops, OfAdaptersOnMatricesAsOne) {
  ArchitectureSpec spec = SmallDecoder();
  spec.adapters = AdapterSpec{.rank = 1, .targets = {{"attention", "query+key+value"}}};
  spec.base_frozen = true;
  const PassFlops flops = Counted(spec, {.sequences = {{1, 16}}}).PerToken(MaskConvention::kFull);
  const double adapter = 2 * (8 + 16);
  EXPECT_EQ(flops.weight_gradient.value(), 2 * adapter);
  const double layer = 2 * (8 * 8 + 2 * 4 * 8 + 8 * 8 + 3 * 32 * 8);
  const double second = layer + adapter + 4 * 2 * 16 * 8;
  const double first = 2 * (8 * 8 + 3 * 32 * 8) + 2 * 16 + 4 * 2 * 16 * 8;
  EXPECT_EQ(flops.input_gradient.value(), first + second + 2 * 100 * 8);
}

// FLOPs beyond the model's mathematics: recomputation, padded experts. A token's FLOPs of
// SmallDecoder() on 16 tokens, forward, are those worked above.
constexpr double kLayersFlops = 512 + 256 + 3072;
constexpr double kHeadFlops = 1600;
constexpr double kScoresFlops = 512;  // full mask; the sum over values as much again

PassFlops Count(ArchitectureSpec spec, RecomputePolicy recompute) {
  return Counted(spec, {.sequences = {{1, 16}}, .recompute = recompute})
      .PerToken(MaskConvention::kFull);
}

TEST(HardwareFlops, WithoutRecomputeAreModelFlopsAndTheScoresAgain) {
  const PassFlops flops = Count(SmallDecoder(), RecomputePolicy::kNone);
  EXPECT_EQ(flops.HardwareWithoutFlashRecompute(), flops.Model());
  EXPECT_EQ(flops.HardwareWithFlashRecompute().value(), flops.Model().value() + kScoresFlops);
}

TEST(HardwareFlops, OfSelectiveRecomputeAddCoreAttention) {
  const PassFlops flops = Count(SmallDecoder(), RecomputePolicy::kSelective);
  EXPECT_EQ(flops.recompute.value(), 2 * kScoresFlops);
}

// One forward pass of the layers, not of the head: published HFU is 4/3 of MFU but for that.
TEST(HardwareFlops, OfFullRecomputeAddOneForwardOfTheLayers) {
  const PassFlops flops = Count(SmallDecoder(), RecomputePolicy::kFull);
  EXPECT_EQ(flops.recompute.value(), kLayersFlops + 2 * kScoresFlops);
  EXPECT_EQ(flops.HardwareWithoutFlashRecompute().value(),
            4 * (kLayersFlops + 2 * kScoresFlops) + 3 * kHeadFlops);
  EXPECT_EQ(flops.HardwareWithFlashRecompute().value(),
            4 * (kLayersFlops + 2 * kScoresFlops) + 3 * kHeadFlops + kScoresFlops);
}

TEST(HardwareFlops, NeverChangeModelFlops) {
  const Flops none = Count(SmallDecoder(), RecomputePolicy::kNone).Model();
  EXPECT_EQ(Count(SmallDecoder(), RecomputePolicy::kSelective).Model(), none);
  EXPECT_EQ(Count(SmallDecoder(), RecomputePolicy::kFull).Model(), none);
}

// Layers before the first trained tensor have no backward pass, and nothing to do again.
TEST(HardwareFlops, LeaveOutLayersWithoutABackwardPass) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers = {{.layer_kind = 0, .count = 1, .frozen = true},
                         {.layer_kind = 0, .count = 1}};
  spec.frozen_components = {WeightComponent::kTokenEmbedding};
  const PassFlops full = Count(spec, RecomputePolicy::kFull);
  EXPECT_EQ(full.recompute.value(), (kLayersFlops + 2 * kScoresFlops) / 2);
  EXPECT_EQ(full.flash_recompute.value(), kScoresFlops / 2);
  EXPECT_EQ(Count(spec, RecomputePolicy::kSelective).recompute.value(), kScoresFlops);
}

// Modules of multi-token prediction are layers, with their projections outside them.
TEST(HardwareFlops, OfFullRecomputeLeaveOutTheHeadsOfModules) {
  ArchitectureSpec spec = SmallDecoder();
  spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 2};
  const PassFlops flops = Count(spec, RecomputePolicy::kFull);
  EXPECT_EQ(flops.recompute.value(), 2 * (kLayersFlops + 2 * kScoresFlops));
}

// Experts padded to 1.25 of their tokens compute a quarter more, in all passes.
TEST(HardwareFlops, OfExpertCapacity) {
  const ArchitectureSpec spec = SmallMixture();
  TrainingStepSpec step = {.sequences = {{1, 16}}};
  const StepFlops plain = Counted(spec, step);
  step.expert_capacity_factor = 1.25;
  const double experts = 2 * 2 * 2 * 3 * 3 * 8;  // a forward pass
  const PassFlops padded = Counted(spec, step).PerToken(MaskConvention::kFull);
  EXPECT_EQ(padded.Model(), plain.PerToken(MaskConvention::kFull).Model());
  EXPECT_EQ(padded.capacity.value(), 0.25 * 3 * experts);
  step.recompute = RecomputePolicy::kFull;
  EXPECT_EQ(Counted(spec, step).PerToken(MaskConvention::kFull).capacity.value(),
            0.25 * 4 * experts);
  step.expert_capacity_factor = 0.5;  // half of the tokens are dropped
  EXPECT_EQ(Counted(spec, step).PerToken(MaskConvention::kFull).capacity.value(),
            -0.5 * 4 * experts);
}

}  // namespace
}  // namespace sextant
