// Activations that feed-forwards, experts and norms keep, computed by hand.
#include <gtest/gtest.h>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

// Hidden size 64, 8 experts of gated 48, 2 a token, a shared one of 32, 12 tokens.
ActivationCase Mixture() {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.hidden_size = 64;
  c.spec.layer_kinds = {DenseLayer(Heads(4, 4, 16), Gated(96))};
  LayerSpec& layer = c.spec.layer_kinds[0];
  layer.feed_forward.reset();
  layer.experts = ExpertsSpec{.expert_count = 8,
                              .experts_per_token = 2,
                              .expert = Gated(48),
                              .shared_expert_count = 1,
                              .shared_expert = Gated(32)};
  c.batch.sequence_length = 12;
  return c;
}

TEST(FeedForwardActivations, GatedAndPlain) {
  ActivationCase c = Mixture();
  LayerSpec& layer = c.spec.layer_kinds[0];
  layer.experts.reset();
  layer.feed_forward = Gated(96);
  const int64_t gated = LayerBytes(c);
  layer.feed_forward = Plain(96);
  EXPECT_EQ(gated - LayerBytes(c), 12 * 96 * 2);  // 6f against 4f
  c.batch.recomputation.activation_function = true;
  EXPECT_EQ(RowBytes(c, "feed_forward", "up"), 12 * 96 * 2);
  EXPECT_EQ(RowBytes(c, "feed_forward", "down_input"), -1);
}

TEST(FeedForwardActivations, OfExperts) {
  ActivationCase c = Mixture();
  EXPECT_EQ(RowBytes(c, "feed_forward", "input"), 12 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "router", "probabilities"), 12 * 8 * 4);
  EXPECT_EQ(RowBytes(c, "experts", "input"), 12 * 2 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "gate"), 12 * 2 * 48 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "down_input"), 12 * 2 * 48 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "output"), -1);
  EXPECT_EQ(RowBytes(c, "shared_experts", "up"), 12 * 32 * 2);
  c.batch.expert_scaling = ExpertScaling::kAfterDown;
  EXPECT_EQ(RowBytes(c, "experts", "output"), 12 * 2 * 64 * 2);
  c.spec.layer_kinds[0].experts->shared_expert_gate = true;
  EXPECT_EQ(RowBytes(c, "shared_experts", "token_gate"), 12 * 2);
  EXPECT_EQ(RowBytes(c, "shared_experts", "output"), 12 * 64 * 2);
}

// Experts of a latent of 20 read and write 20 numbers a token; the matrix after them reads their
// sum. Two experts without parameters add to the router alone.
TEST(FeedForwardActivations, OfExpertsOnALatent) {
  ActivationCase c = Mixture();
  c.spec.layer_kinds[0].experts->latent_size = 20;
  c.spec.layer_kinds[0].experts->zero_expert_count = 2;
  EXPECT_EQ(RowBytes(c, "feed_forward", "input"), 12 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "router", "probabilities"), 12 * 10 * 4);
  EXPECT_EQ(RowBytes(c, "experts", "input"), 12 * 2 * 20 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "gate"), 12 * 2 * 48 * 2);
  EXPECT_EQ(RowBytes(c, "expert_latent", "up_input"), 12 * 20 * 2);
  EXPECT_EQ(RowBytes(c, "shared_experts", "up"), 12 * 32 * 2);
  c.batch.expert_scaling = ExpertScaling::kAfterDown;
  EXPECT_EQ(RowBytes(c, "experts", "output"), 12 * 2 * 20 * 2);
}

// The router has an input of its own; the norms of it and of the experts' input read what the
// feed-forward's norm keeps. The two norms before the sum keep an output each.
TEST(FeedForwardActivations, OfExpertsWithNormsOfTheirOwn) {
  ActivationCase c = Mixture();
  LayerSpec& layer = c.spec.layer_kinds[0];
  layer.feed_forward = Gated(96);
  layer.experts->shared_expert_count = 0;
  layer.experts->shared_expert = {};
  const int64_t without = LayerBytes(c);
  layer.norms.before_experts = layer.norms.before_sum = true;
  EXPECT_EQ(RowBytes(c, "router", "input"), 12 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "norm", "after_dense"), 12 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "norm", "after_experts"), 12 * 64 * 2);
  EXPECT_EQ(LayerBytes(c), without + 3 * 12 * 64 * 2);
}

// act(gate), for up's gradient, and act(gate) up, for the probabilities': 2 f a slot each.
TEST(FeedForwardActivations, OfExpertsWhoseActivationIsNotFused) {
  ActivationCase c = Mixture();
  const int64_t fused = LayerBytes(c);
  const int64_t features = 12 * 2 * 48 * 2;
  c.batch.fused_expert_activation = false;
  EXPECT_EQ(LayerBytes(c) - fused, 2 * features);
  EXPECT_EQ(RowBytes(c, "experts", "activated_gate"), features);
  EXPECT_EQ(RowBytes(c, "experts", "activation_output"), features);
  c.spec.layer_kinds[0].experts->expert = Plain(48);
  EXPECT_EQ(RowBytes(c, "experts", "activated_gate"), -1);
  EXPECT_EQ(RowBytes(c, "experts", "activation_output"), features);
  // Worked out again with what is made of it.
  c.batch.recomputation.activation_function = true;
  EXPECT_EQ(RowBytes(c, "experts", "activation_output"), -1);
  c.batch.recomputation = {};
  c.batch.expert_scaling = ExpertScaling::kAfterDown;
  EXPECT_EQ(RowBytes(c, "experts", "activation_output"), -1);
}

// The input that a router reads, too, stays in its computed type; the copies that experts read need
// not.
TEST(FeedForwardActivations, OfExpertsInFp8) {
  ActivationCase c = Mixture();
  c.batch.matmul_input_data_type = DataType::kFp8E5m2;
  EXPECT_EQ(RowBytes(c, "feed_forward", "input"), 12 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "input"), 12 * 2 * 64);
  EXPECT_EQ(RowBytes(c, "experts", "down_input"), 12 * 2 * 48);
  EXPECT_EQ(RowBytes(c, "shared_experts", "down_input"), 12 * 32);
}

// Experts that are dealt out get as many tokens from others as they give.
TEST(FeedForwardActivations, ExpertParallelismChangesNothing) {
  ActivationCase c = Mixture();
  const int64_t alone = LayerBytes(c);
  c.layout.expert_parallel_size = 8;
  EXPECT_EQ(LayerBytes(c), alone);
}

// 4 tensor parallel ranks: 24 routed tokens of one micro-batch. Shared by all 4, an expert sees all
// of them on each, in quarters of its features; shared by 2, half of them in halves; by none, a
// quarter, whole.
TEST(FeedForwardActivations, ExpertTensorParallelism) {
  ActivationCase c = Mixture();
  c.layout.tensor_parallel_size = 4;
  c.batch.sequence_parallel = true;
  EXPECT_EQ(RowBytes(c, "experts", "input"), 24 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "gate"), 24 * 12 * 2);
  c.layout.expert_tensor_parallel_size = 2;
  EXPECT_EQ(RowBytes(c, "experts", "input"), 12 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "gate"), 12 * 24 * 2);
  c.layout.expert_tensor_parallel_size = 1;
  EXPECT_EQ(RowBytes(c, "experts", "input"), 6 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "gate"), 6 * 48 * 2);
  EXPECT_EQ(RowBytes(c, "router", "probabilities"), 3 * 8 * 4);
  EXPECT_EQ(RowBytes(c, "shared_experts", "up"), 12 * 8 * 2);
}

// 4 ranks gather 4 x 12 tokens, of which each has 2 of 8 experts: as many slots, and 2 columns of
// 48 probabilities and of as many marks. Two ranks that share each expert: 2 x 4 x 6 tokens.
TEST(FeedForwardActivations, OfExpertsThatGatherTokens) {
  ActivationCase c = Mixture();
  const int64_t sent = LayerBytes(c);
  c.layout.expert_parallel_size = 4;
  c.batch.expert_dispatch = ExpertDispatch::kAllGather;
  EXPECT_EQ(RowBytes(c, "experts", "input"), 12 * 2 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "local_probabilities"), 48 * 2 * 2);
  EXPECT_EQ(RowBytes(c, "experts", "local_map"), 48 * 2);
  EXPECT_EQ(LayerBytes(c) - sent, 48 * 2 * 3);
  c.layout.tensor_parallel_size = 2;
  c.batch.sequence_parallel = true;
  EXPECT_EQ(RowBytes(c, "experts", "local_map"), 48 * 2);
  c.layout = {};
  c.batch.sequence_parallel = false;
  EXPECT_EQ(RowBytes(c, "experts", "local_map"), -1);
}

// 24 slots a sequence, times 1.3, rounded up: 32; of two sequences twice as many.
TEST(FeedForwardActivations, OfUnevenLoads) {
  ActivationCase c = Mixture();
  c.batch.expert_load_factor = 1.3;
  EXPECT_EQ(RowBytes(c, "experts", "input"), 32 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "router", "probabilities"), 12 * 8 * 4);
  c.batch.sequence_count = 2;
  EXPECT_EQ(RowBytes(c, "experts", "input"), 64 * 64 * 2);
}

// An encoder's experts see the encoder's tokens.
TEST(FeedForwardActivations, OfExpertsInAnEncoder) {
  ActivationCase c = Mixture();
  c.spec.encoder.layers = c.spec.decoder.layers;
  c.batch.encoder_sequence_length = 20;
  ActivationTensors rows;
  ASSERT_TRUE(LayerActivations(c.context(), ModelPart::kEncoder, 0, &rows).ok());
  int found = 0;
  for (const ActivationTensor& row : rows) {
    if (row.module != "experts" || row.name != "input") continue;
    EXPECT_EQ(row.elements, 20 * 2 * 64);
    ++found;
  }
  EXPECT_EQ(found, 1);
}

TEST(NormActivations, StandWhereNormsDo) {
  ActivationCase c = Mixture();
  LayerSpec& layer = c.spec.layer_kinds[0];
  layer.experts.reset();
  layer.feed_forward = Gated(96);
  const int64_t h = 12 * 64 * 2;
  const int64_t before = LayerBytes(c);
  layer.norms = {.before_attention = false,
                 .after_attention = true,
                 .before_feed_forward = false,
                 .after_feed_forward = true};
  EXPECT_EQ(LayerBytes(c), before);  // as many norms elsewhere
  layer.norms.before_attention = layer.norms.before_feed_forward = true;
  EXPECT_EQ(LayerBytes(c), before + 2 * h);
  // Branches in parallel that share a norm share its output: norm input and one input less.
  layer.norms = {.before_feed_forward = false};
  EXPECT_EQ(LayerBytes(c), before - 2 * h);
  // Not after a cross attention, whose sum the feed-forward reads.
  EXPECT_EQ(RowBytes(c, "feed_forward", "input"), -1);
  layer.cross_attention = Heads(4, 4, 16);
  EXPECT_EQ(RowBytes(c, "feed_forward", "input"), h);
  layer.cross_attention.reset();
  layer.norms = {};
  c.batch.recomputation.norm_outputs = true;
  EXPECT_EQ(LayerBytes(c), before - 2 * h);
}

}  // namespace
}  // namespace sextant
