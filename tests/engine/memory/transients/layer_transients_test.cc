// Transients of layers in their backward and forward pass, computed by hand.
#include <gtest/gtest.h>

#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

constexpr StagePhase kLayer = StagePhase::kLayer;
constexpr StagePhase kForward = StagePhase::kForward;

// h = 64, 4 heads of 16, f = 512 ungated, 10 tokens, two stages of a layer: no loss on the first.
TransientCase Wide() {
  TransientCase c;
  c.base.spec = SmallDecoder();
  c.base.spec.hidden_size = 64;
  c.base.spec.layer_kinds = {DenseLayer(Heads(4, 4, 16), Plain(512))};
  c.base.layout.pipeline_parallel_size = 2;
  c.base.batch.sequence_length = 10;
  return c;
}
constexpr int64_t kH = 10 * 64 * 2;
constexpr int64_t kF = 10 * 512 * 2;

// Behind down its input is gone; the activation function has both gradients. Residual: kH.
TEST(LayerBackward, OfAWideFeedForward) {
  TransientCase c = Wide();
  EXPECT_EQ(c.Added(kLayer) - c.Freed(kLayer), kH + kF);  // as down, whose input is there yet
  // Gated: three gradients and one operand gone.
  c.base.spec.layer_kinds[0].feed_forward = Gated(512);
  EXPECT_EQ(c.Added(kLayer), kH + 3 * kF);
  EXPECT_EQ(c.Freed(kLayer), kF);
}

// Narrow: the core of attention holds most. dO, dQ, dK, dV in 16 bits, dQ's sum and rows in fp32,
// when all of the feed-forward and the dropout masks, if any, are gone.
TEST(LayerBackward, OfAttentionsCore) {
  TransientCase c = Wide();
  c.base.spec.layer_kinds[0].feed_forward.reset();
  c.base.spec.layer_kinds[0].norms.before_feed_forward = false;
  EXPECT_EQ(c.Added(kLayer), kH + 4 * kH + 2 * kH + 10 * 4 * 4);
  EXPECT_EQ(c.Freed(kLayer), 0);  // output's input is the core's too
  // One key head for 4: dK and dV a quarter each, and once more for each query head.
  c.base.spec.layer_kinds[0].attention = Heads(4, 1, 16);
  EXPECT_EQ(c.Added(kLayer), kH + 2 * kH + kH / 2 + 2 * kH + 2 * kH + 10 * 4 * 4);
}

// 2 ranks of 10 tokens each. The core as above, when output's input, a tensor of its own, is gone.
// The exchange of dO has three of them, that of dQ, dK and dV two more than these: both less.
TEST(LayerBackward, OfExchangedHeads) {
  TransientCase c = Wide();
  c.base.spec.layer_kinds[0].feed_forward.reset();
  c.base.spec.layer_kinds[0].norms.before_feed_forward = false;
  c.base.batch.context_parallel_size = 2;
  c.base.batch.sequence_length = 20;
  c.base.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  EXPECT_EQ(c.Added(kLayer), kH + 4 * kH + 2 * kH + 10 * 4 * 4);
  EXPECT_EQ(c.Freed(kLayer), kH);
  // Forward: queries, keys and values of own tokens, and a copy that is sent.
  EXPECT_EQ(c.ByName(kForward), (std::map<std::string, int64_t>{
                                    {"layer.residual", kH}, {"layer.exchanged_heads", 4 * kH}}));
  // One key head for 4, copied for 2 ranks: dK and dV half each, and once more for each query head.
  c.base.spec.layer_kinds[0].attention = Heads(4, 1, 16);
  EXPECT_EQ(c.Added(kLayer), kH + 2 * kH + kH + 2 * kH + 2 * kH + 10 * 4 * 4);
  EXPECT_EQ(c.ByName(kForward)["layer.exchanged_heads"], kH + kH / 2 + kH);
}

// One operation of core and exchanges: at its end dO before and after its exchange, the output
// exchanged again, and dQ, dK and dV made, sent and received.
TEST(LayerBackward, OfHeadsExchangedByTransformerEngine) {
  TransientCase c = Wide();
  c.base.spec.layer_kinds[0].feed_forward.reset();
  c.base.spec.layer_kinds[0].norms.before_feed_forward = false;
  c.base.batch.context_parallel_size = 2;
  c.base.batch.sequence_length = 20;
  c.base.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  c.base.batch.exchanges_output_again = true;
  EXPECT_EQ(c.Added(kLayer), kH + 3 * kH + 9 * kH);
  EXPECT_EQ(c.Freed(kLayer), 0);
  // Forward: queries, keys and values twice, and one that is received.
  EXPECT_EQ(c.ByName(kForward)["layer.exchanged_heads"], 7 * kH);
}

TEST(LayerBackward, OfUnfusedAttention) {
  TransientCase c = Wide();
  c.base.spec.layer_kinds[0].feed_forward.reset();
  c.base.spec.layer_kinds[0].norms.before_feed_forward = false;
  c.base.batch.attention = AttentionKernel::kUnfused;
  c.base.batch.sequence_length = 1000;
  const int64_t h = 100 * kH;
  const int64_t scores = 4 * 1000 * 1000 * 2;
  // Softmax: dV waits, gradients of probabilities and of scores; output's input and V are gone.
  EXPECT_EQ(c.Added(kLayer), h + h + 2 * scores);
  EXPECT_EQ(c.Freed(kLayer), 2 * h);
  EXPECT_EQ(c.ByName(kForward)["layer.scores"], scores);
}

// 2 ranks: all tokens of up's input and of its gradient on each, features halved.
TEST(LayerBackward, UnderSequenceParallelism) {
  TransientCase c = Wide();
  c.base.layout.tensor_parallel_size = 2;
  c.base.batch.sequence_parallel = true;
  // Down: the residual's gradient, gathered too, and that of down's features.
  EXPECT_EQ(c.Added(kLayer), kH / 2 + kH + kF / 2);
  EXPECT_EQ(c.Freed(kLayer), 0);
  c.base.spec.layer_kinds[0].feed_forward = Plain(32);
  // Up: residual and dx cut, x and dx of all tokens, up's features; gone: down's input and up's
  // output, as wide.
  const int64_t features = 10 * 16 * 2;
  EXPECT_EQ(c.Added(kLayer), kH / 2 + kH / 2 + 2 * kH + features);
  EXPECT_EQ(c.Freed(kLayer), 2 * features);
  EXPECT_EQ(c.ByName(kForward), (std::map<std::string, int64_t>{{"layer.residual", kH / 2},
                                                                {"layer.branch_output", kH / 2},
                                                                {"layer.gathered_input", kH}}));
}

TEST(LayerBackward, WeightGradientsOfTheirOwn) {
  TransientCase c = Wide();
  c.buffers.fused_weight_gradient = false;
  c.gradient_data_type = DataType::kFp32;
  // Down's, when nothing is gone yet.
  EXPECT_EQ(c.Added(kLayer), kH + kF + 64 * 512 * 4);
  EXPECT_EQ(c.Freed(kLayer), 0);
  EXPECT_EQ(c.ByName(kLayer)["layer.weight_gradient"], 64 * 512 * 4);
}

// All that the layer would have kept is back, less its input; what the peak's step no longer reads
// is gone again.
TEST(LayerBackward, OfFullRecomputation) {
  TransientCase c = Wide();
  const int64_t held = LayerBytes(c.base);
  const int64_t plain = c.Added(kLayer) - c.Freed(kLayer);
  c.base.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(c.Added(kLayer), held - kH + plain);
  EXPECT_EQ(c.Freed(kLayer), 0);
  // Kept, computed again and made are what they were.
  EXPECT_EQ(LayerBytes(c.base) + c.Added(kLayer), held + plain);
}

// A block of 3 layers keeps one input: two layers, inputs included, are recomputed while the first
// is present.
TEST(LayerBackward, OfBlocks) {
  TransientCase c = Wide();
  c.base.spec.decoder.layers[0].count = 8;
  const int64_t held = LayerBytes(c.base);
  c.base.batch.recomputation.policy = RecomputePolicy::kFull;
  const int64_t one = c.Added(kLayer);
  c.base.batch.recomputation.layers_per_block = 3;
  EXPECT_EQ(c.Added(kLayer), one + 2 * held);
  c.base.batch.recomputation.layers_per_block = 100;  // no more than the chunk has
  EXPECT_EQ(c.Added(kLayer), one + 3 * held);
}

TEST(LayerBackward, OfSelectiveRecomputation) {
  TransientCase c = Wide();
  c.base.batch.attention = AttentionKernel::kUnfused;
  c.base.batch.sequence_length = 1000;
  const int64_t plain = c.Added(kLayer) - c.Freed(kLayer);
  const int64_t kept = LayerBytes(c.base);
  c.base.batch.recomputation.policy = RecomputePolicy::kSelective;
  const int64_t scores = 4 * 1000 * 1000 * 2;
  EXPECT_EQ(kept - LayerBytes(c.base), scores);
  EXPECT_EQ(c.Added(kLayer) - c.Freed(kLayer), plain + scores);
  EXPECT_EQ(c.ByName(kLayer)["attention.softmax"], scores);
}

// 2 of 8 experts a token, gated 96 wide: 20 slots.
TEST(LayerBackward, OfExperts) {
  TransientCase c = Wide();
  LayerSpec& layer = c.base.spec.layer_kinds[0];
  layer.feed_forward.reset();
  layer.experts = ExpertsSpec{.expert_count = 8, .experts_per_token = 2, .expert = Gated(960)};
  const int64_t f = 20 * 960 * 2;
  EXPECT_EQ(c.Added(kLayer), kH + 3 * f);
  EXPECT_EQ(c.Freed(kLayer), f);
  layer.experts->expert = Gated(8);  // then gradients on their way are most
  layer.attention.reset();
  layer.norms.before_attention = false;
  const int64_t small = 20 * 8 * 2;
  // Back at the tokens: two copies of 2 kH and the sum; gate, up and down's input are gone.
  EXPECT_EQ(c.Added(kLayer), kH + 4 * kH + kH);
  EXPECT_EQ(c.Freed(kLayer), 3 * small);
}

// The last stage first frees everything after its layers, except logits that are the output.
TEST(LayerBackward, ComesBehindTheHead) {
  TransientCase c = Wide();
  const int64_t middle = c.Freed(kLayer, 0);
  const int64_t ends = StageBytes(c.base, 1) - LayerBytes(c.base);
  EXPECT_EQ(c.Freed(kLayer, 1), middle + ends);
  c.base.batch.loss = LossKind::kPlain;
  const int64_t logits = 10 * 100 * 2;
  EXPECT_EQ(c.Freed(kLayer, 1), middle + StageBytes(c.base, 1) - LayerBytes(c.base) - logits);
  EXPECT_EQ(c.Freed(kForward, 1), StageBytes(c.base, 1) - LayerBytes(c.base));
}

}  // namespace
}  // namespace sextant
