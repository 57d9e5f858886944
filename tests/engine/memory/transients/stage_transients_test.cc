// Transients of layers, the loss, the output head and a pipeline, computed by hand.
#include <gtest/gtest.h>

#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

using Bytes_ = std::map<std::string, int64_t>;
constexpr StagePhase kLoss = StagePhase::kLoss;
constexpr StagePhase kHeadPhase = StagePhase::kHead;
constexpr int64_t kLogits = 6 * 128;

// Hidden size 8, vocabulary 100 padded to 128, 6 tokens.
TransientCase SmallStage() {
  TransientCase c;
  c.base.spec = SmallDecoder();
  c.base.spec.embedding.padded_vocabulary_size = 128;
  c.base.batch.sequence_length = 6;
  return c;
}

TEST(LossTransients, OfAVocabularyParallelLoss) {
  const TransientCase c = SmallStage();
  EXPECT_EQ(c.ByName(kLoss), (Bytes_{{"loss.logits", kLogits * 2}}));
  EXPECT_EQ(c.Freed(kLoss), 0);
  EXPECT_EQ(c.ByName(kHeadPhase), (Bytes_{{"output_head.logits_gradient", kLogits * 2},
                                          {"output_head.input_gradient", 6 * 8 * 2}}));
  EXPECT_EQ(c.Freed(kHeadPhase), kLogits * 4);  // the softmax
}

// The softmax is made over the logits themselves, and becomes the gradient that the head reads.
TEST(LossTransients, InFp32TheSoftmaxIsTheGradient) {
  TransientCase c = SmallStage();
  c.base.batch.compute_data_type = DataType::kFp32;
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.ByName(kHeadPhase), (Bytes_{{"output_head.input_gradient", 6 * 8 * 4}}));
  EXPECT_EQ(c.Freed(kHeadPhase), 0);
}

// 10 bytes a logit in total: 4 are kept; the logits, 2, and the exponentials, 4, are not.
TEST(LossTransients, OfACompiledVocabularyParallelLoss) {
  TransientCase c = SmallStage();
  c.base.batch.loss = LossKind::kVocabularyParallelCompiled;
  EXPECT_EQ(c.ByName(kLoss),
            (Bytes_{{"loss.exponentials", kLogits * 4}, {"loss.logits", kLogits * 2}}));
  EXPECT_EQ(c.Added(kLoss), kLogits * 6);
  EXPECT_EQ(c.Freed(kHeadPhase), kLogits * 4);  // the softmax
  TransientCase plain = SmallStage();
  EXPECT_EQ(EndBytes(c.base), EndBytes(plain.base));
  EXPECT_EQ(c.ByName(kHeadPhase), plain.ByName(kHeadPhase));
  c.base.batch.compute_data_type = DataType::kFp32;
  EXPECT_EQ(c.Added(kLoss), kLogits * 4);
  EXPECT_EQ(c.Freed(kHeadPhase), 0);
}

// log_softmax's gradient and its input's, both in fp32, in addition to 2 + 4 bytes kept a logit.
TEST(LossTransients, OfAPlainLoss) {
  TransientCase c = SmallStage();
  c.base.batch.loss = LossKind::kPlain;
  EXPECT_EQ(c.ByName(kLoss), (Bytes_{{"loss.log_softmax_gradient", kLogits * 4},
                                     {"loss.logits_gradient", kLogits * 4}}));
  EXPECT_EQ(c.Added(kHeadPhase), kLogits * 2 + 6 * 8 * 2);
  EXPECT_EQ(c.Freed(kHeadPhase), kLogits * 4);
}

// (grad_input + exp(x)) grad_output of logits that two ranks divide: three tensors in fp32.
TEST(LossTransients, OfAPlainLossOverDividedLogits) {
  TransientCase c = SmallStage();
  c.base.batch.loss = LossKind::kPlain;
  c.base.layout.tensor_parallel_size = 2;
  EXPECT_EQ(c.ByName(kLoss), (Bytes_{{"loss.log_softmax_gradient", kLogits / 2 * 4},
                                     {"loss.logits_gradient", kLogits / 2 * 4},
                                     {"loss.probabilities", kLogits / 2 * 4}}));
}

// Logits that are returned in fp32 take the place of the 16-bit ones, to the end of the step.
TEST(LossTransients, WideOutputsStay) {
  TransientCase c = SmallStage();
  c.base.batch.loss = LossKind::kPlain;
  const int64_t kept = EndBytes(c.base);
  const int64_t freed = c.Freed(StagePhase::kLayer);
  c.base.batch.wide_outputs = true;
  EXPECT_EQ(EndBytes(c.base) - kept, kLogits * 2);
  EXPECT_EQ(c.Freed(StagePhase::kLayer), freed);
}

// A loss that overwrites the fp32 copy of the logits makes a second one, frees the first after the
// loss, and casts the gradient back for the head.
TEST(LossTransients, OfAFusedLossOfWidenedLogits) {
  TransientCase c = SmallStage();
  c.base.batch.loss = LossKind::kFused;
  c.base.batch.logit_copies = LogitCopies::kShifted;
  EXPECT_EQ(c.ByName(kLoss), (Bytes_{{"loss.wide_logits", kLogits * 4}}));
  EXPECT_EQ(c.Added(kHeadPhase), kLogits * 2 + 6 * 8 * 2);
  EXPECT_EQ(c.Freed(kHeadPhase), kLogits * 4 + 6 * 4);
  c.base.batch.compute_data_type = DataType::kFp32;  // they are wide already
  EXPECT_EQ(c.Added(kLoss), 0);
}

TEST(LossTransients, OfAFusedAndOfAChunkedLoss) {
  TransientCase c = SmallStage();
  c.base.batch.loss = LossKind::kFused;
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.Added(kHeadPhase), 6 * 8 * 2);
  EXPECT_EQ(c.Freed(kHeadPhase), 6 * 4);
  c.base.batch.loss = LossKind::kChunked;
  c.base.batch.loss_chunk_tokens = 2;
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.Added(kHeadPhase), 0);
  c.buffers.fused_weight_gradient = false;  // computed in the forward pass
  EXPECT_EQ(c.Added(kLoss), 128 * 8 * 2);
  EXPECT_EQ(c.Added(kHeadPhase), 128 * 8 * 2);
}

// 2 ranks of tensor parallelism: half of the logits and of the weight gradient; the input of all
// tokens, and its gradient before it is summed and scattered.
TEST(HeadTransients, UnderSequenceParallelism) {
  TransientCase c = SmallStage();
  c.base.layout.tensor_parallel_size = 2;
  c.base.batch.sequence_parallel = true;
  c.buffers.fused_weight_gradient = false;
  c.gradient_data_type = DataType::kFp32;
  EXPECT_EQ(c.ByName(kHeadPhase), (Bytes_{{"output_head.weight_gradient", 64 * 8 * 4},
                                          {"output_head.logits_gradient", 6 * 64 * 2},
                                          {"output_head.input_gradient", 3 * 8 * 2},
                                          {"output_head.gathered_input", 6 * 8 * 2},
                                          {"output_head.unreduced_input_gradient", 6 * 8 * 2}}));
}

// In the type that is computed in, as the weights that it stands for.
TEST(HeadTransients, APlaceholderIsAsLargeAsTheWeights) {
  TransientCase c = SmallStage();
  c.head_placeholder = true;
  EXPECT_EQ(c.ByName(kHeadPhase), (Bytes_{{"output_head.placeholder_gradient", 128 * 8 * 2},
                                          {"output_head.logits_gradient", kLogits * 2},
                                          {"output_head.input_gradient", 6 * 8 * 2}}));
  EXPECT_EQ(c.Added(kLoss), kLogits * 2);
  c.base.layout.tensor_parallel_size = 2;
  EXPECT_EQ(c.ByName(kHeadPhase)["output_head.placeholder_gradient"], 64 * 8 * 2);
  c.base.batch.loss = LossKind::kChunked;  // gradients are computed chunk by chunk
  c.base.batch.loss_chunk_tokens = 2;
  EXPECT_EQ(c.Added(kHeadPhase), 0);
}

TEST(HeadTransients, OfNone) {
  TransientCase c = SmallStage();
  c.base.spec.output = {.head = OutputHeadKind::kNone};
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.Added(kHeadPhase), 0);
}

TEST(ReceiveBuffers, StandBetweenStages) {
  TransientCase c = SmallStage();
  EXPECT_EQ(c.Of().receive_buffers.value(), 0);
  c.base.spec.decoder.layers = {{.layer_kind = 0, .count = 6}};
  c.base.layout.pipeline_parallel_size = 3;
  EXPECT_EQ(c.Of(0).receive_buffers.value(), 6 * 8 * 2);      // the gradient of what it sends
  EXPECT_EQ(c.Of(1).receive_buffers.value(), 2 * 6 * 8 * 2);  // and its input
  EXPECT_EQ(c.Of(2).receive_buffers.value(), 6 * 8 * 2);
  EXPECT_FALSE(c.Of(1).At(kLoss).happens);
  c.base.layout.virtual_stage_count = 2;  // the last stage sends to the first
  EXPECT_EQ(c.Of(0).receive_buffers.value(), 2 * 6 * 8 * 2);
  c.base.layout.tensor_parallel_size = 2;
  EXPECT_EQ(c.Of(0).receive_buffers.value(), 2 * 6 * 8 * 2);
  c.base.batch.sequence_parallel = true;
  EXPECT_EQ(c.Of(0).receive_buffers.value(), 6 * 8 * 2);
}

// The encoder's output goes along with the decoder's hidden states.
TEST(ReceiveBuffers, OfTwoStacks) {
  TransientCase c;
  c.base.spec = SmallEncoderDecoder();
  c.base.spec.encoder.layers[0].count = c.base.spec.decoder.layers[0].count = 2;
  c.base.batch.sequence_length = 5;
  c.base.batch.encoder_sequence_length = 7;
  c.base.layout.pipeline_parallel_size = 4;
  EXPECT_EQ(c.Of(0).receive_buffers.value(), 7 * 8 * 2);
  EXPECT_EQ(c.Of(1).receive_buffers.value(), (7 + 7) * 8 * 2);
  EXPECT_EQ(c.Of(2).receive_buffers.value(), (7 + 5 + 7) * 8 * 2);
  EXPECT_EQ(c.Of(3).receive_buffers.value(), (5 + 7) * 8 * 2);
}

constexpr StagePhase kLayerPhase = StagePhase::kLayer;
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
constexpr int64_t kHid = 10 * 64 * 2;
constexpr int64_t kF = 10 * 512 * 2;

// Behind down its input is gone; the activation function has both gradients. Residual: kHid.
TEST(LayerBackward, OfAWideFeedForward) {
  TransientCase c = Wide();
  EXPECT_EQ(c.Added(kLayerPhase) - c.Freed(kLayerPhase),
            kHid + kF);  // as down, whose input is there yet
  // Gated: three gradients and one operand gone.
  c.base.spec.layer_kinds[0].feed_forward = Gated(512);
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 3 * kF);
  EXPECT_EQ(c.Freed(kLayerPhase), kF);
  c.base.batch.wide_residual = true;  // the residual's gradient, which is of kHid, in fp32
  EXPECT_EQ(c.Added(kLayerPhase), 2 * kHid + 3 * kF);
}

// Narrow: the core of attention holds most. dO, dQ, dK, dV in 16 bits, dQ's sum and rows in fp32,
// when all of the feed-forward and the dropout masks, if any, are gone.
TEST(LayerBackward, OfAttentionsCore) {
  TransientCase c = Wide();
  c.base.spec.layer_kinds[0].feed_forward.reset();
  c.base.spec.layer_kinds[0].norms.before_feed_forward = false;
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 4 * kHid + 2 * kHid + 10 * 4 * 4);
  EXPECT_EQ(c.Freed(kLayerPhase), 0);  // output's input is the core's too
  // One key head for 4: dK and dV a quarter each, and once more for each query head.
  c.base.spec.layer_kinds[0].attention = Heads(4, 1, 16);
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 2 * kHid + kHid / 2 + 2 * kHid + 2 * kHid + 10 * 4 * 4);
}

// The gate's gradient waits for its matrix; the gate and the product, which output's matrix read,
// are gone.
TEST(LayerBackward, OfAttentionsCoreWithAGate) {
  TransientCase c = Wide();
  c.base.spec.layer_kinds[0].feed_forward.reset();
  c.base.spec.layer_kinds[0].norms.before_feed_forward = false;
  c.base.spec.layer_kinds[0].attention->output_gate = OutputGate::kPerChannel;
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 4 * kHid + 2 * kHid + 10 * 4 * 4 + kHid);
  EXPECT_EQ(c.Freed(kLayerPhase), 2 * kHid);
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
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 4 * kHid + 2 * kHid + 10 * 4 * 4);
  EXPECT_EQ(c.Freed(kLayerPhase), kHid);
  // Forward: queries, keys and values of own tokens, and a copy that is sent.
  EXPECT_EQ(c.ByName(kForward),
            (std::map<std::string, int64_t>{{"layer.residual", kHid},
                                            {"layer.exchanged_heads", 4 * kHid}}));
  // One key head for 4, copied for 2 ranks: dK and dV half each, and once more for each query head.
  c.base.spec.layer_kinds[0].attention = Heads(4, 1, 16);
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 2 * kHid + kHid + 2 * kHid + 2 * kHid + 10 * 4 * 4);
  EXPECT_EQ(c.ByName(kForward)["layer.exchanged_heads"], kHid + kHid / 2 + kHid);
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
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 3 * kHid + 9 * kHid);
  EXPECT_EQ(c.Freed(kLayerPhase), 0);
  // Forward: queries, keys and values twice, and one that is received.
  EXPECT_EQ(c.ByName(kForward)["layer.exchanged_heads"], 7 * kHid);
}

TEST(LayerBackward, OfUnfusedAttention) {
  TransientCase c = Wide();
  c.base.spec.layer_kinds[0].feed_forward.reset();
  c.base.spec.layer_kinds[0].norms.before_feed_forward = false;
  c.base.batch.attention = AttentionKernel::kUnfused;
  c.base.batch.sequence_length = 1000;
  const int64_t h = 100 * kHid;
  const int64_t scores = 4 * 1000 * 1000 * 2;
  // Softmax: dV waits, gradients of probabilities and of scores; output's input and V are gone.
  EXPECT_EQ(c.Added(kLayerPhase), h + h + 2 * scores);
  EXPECT_EQ(c.Freed(kLayerPhase), 2 * h);
  EXPECT_EQ(c.ByName(kForward)["layer.scores"], scores);
  // In fp32: its gradient and that of the scores are wide; the cast that the values read is gone.
  c.base.batch.wide_softmax = true;
  EXPECT_EQ(c.Added(kLayerPhase), h + h + 2 * 2 * scores);
  EXPECT_EQ(c.Freed(kLayerPhase), 2 * h + scores);
}

// 2 ranks: all tokens of up's input and of its gradient on each, features halved.
TEST(LayerBackward, UnderSequenceParallelism) {
  TransientCase c = Wide();
  c.base.layout.tensor_parallel_size = 2;
  c.base.batch.sequence_parallel = true;
  // Down: the residual's gradient, gathered too, and that of down's features.
  EXPECT_EQ(c.Added(kLayerPhase), kHid / 2 + kHid + kF / 2);
  EXPECT_EQ(c.Freed(kLayerPhase), 0);
  c.base.spec.layer_kinds[0].feed_forward = Plain(32);
  // Up: residual and dx cut, x and dx of all tokens, up's features; gone: down's input and up's
  // output, as wide.
  const int64_t features = 10 * 16 * 2;
  EXPECT_EQ(c.Added(kLayerPhase), kHid / 2 + kHid / 2 + 2 * kHid + features);
  EXPECT_EQ(c.Freed(kLayerPhase), 2 * features);
  EXPECT_EQ(c.ByName(kForward), (std::map<std::string, int64_t>{{"layer.residual", kHid / 2},
                                                                {"layer.branch_output", kHid / 2},
                                                                {"layer.gathered_input", kHid}}));
}

TEST(LayerBackward, WeightGradientsOfTheirOwn) {
  TransientCase c = Wide();
  c.buffers.fused_weight_gradient = false;
  c.gradient_data_type = DataType::kFp32;
  // Down's, when nothing is gone yet.
  EXPECT_EQ(c.Added(kLayerPhase), kHid + kF + 64 * 512 * 4);
  EXPECT_EQ(c.Freed(kLayerPhase), 0);
  EXPECT_EQ(c.ByName(kLayerPhase)["layer.weight_gradient"], 64 * 512 * 4);
}

// All that the layer would have kept is back, less its input; what the peak's step no longer reads
// is gone again.
TEST(LayerBackward, OfFullRecomputation) {
  TransientCase c = Wide();
  const int64_t held = LayerBytes(c.base);
  const int64_t plain = c.Added(kLayerPhase) - c.Freed(kLayerPhase);
  c.base.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(c.Added(kLayerPhase), held - kHid + plain);
  EXPECT_EQ(c.Freed(kLayerPhase), 0);
  // Kept, computed again and made are what they were.
  EXPECT_EQ(LayerBytes(c.base) + c.Added(kLayerPhase), held + plain);
}

// A block of 3 layers keeps one input: two layers, inputs included, are recomputed while the first
// is present.
TEST(LayerBackward, OfBlocks) {
  TransientCase c = Wide();
  c.base.spec.decoder.layers[0].count = 8;
  const int64_t held = LayerBytes(c.base);
  c.base.batch.recomputation.policy = RecomputePolicy::kFull;
  const int64_t one = c.Added(kLayerPhase);
  c.base.batch.recomputation.layers_per_block = 3;
  EXPECT_EQ(c.Added(kLayerPhase), one + 2 * held);
  c.base.batch.recomputation.layers_per_block = 100;  // no more than the chunk has
  EXPECT_EQ(c.Added(kLayerPhase), one + 3 * held);
}

TEST(LayerBackward, OfSelectiveRecomputation) {
  TransientCase c = Wide();
  c.base.batch.attention = AttentionKernel::kUnfused;
  c.base.batch.sequence_length = 1000;
  const int64_t plain = c.Added(kLayerPhase) - c.Freed(kLayerPhase);
  const int64_t kept = LayerBytes(c.base);
  c.base.batch.recomputation.policy = RecomputePolicy::kSelective;
  const int64_t scores = 4 * 1000 * 1000 * 2;
  EXPECT_EQ(kept - LayerBytes(c.base), scores);
  EXPECT_EQ(c.Added(kLayerPhase) - c.Freed(kLayerPhase), plain + scores);
  EXPECT_EQ(c.ByName(kLayerPhase)["attention.softmax"], scores);
}

// 2 of 8 experts a token, gated 96 wide: 20 slots.
TEST(LayerBackward, OfExperts) {
  TransientCase c = Wide();
  LayerSpec& layer = c.base.spec.layer_kinds[0];
  layer.feed_forward.reset();
  layer.experts = ExpertsSpec{.expert_count = 8, .experts_per_token = 2, .expert = Gated(960)};
  const int64_t f = 20 * 960 * 2;
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 3 * f);
  EXPECT_EQ(c.Freed(kLayerPhase), f);
  layer.experts->expert = Gated(8);  // then gradients on their way are most
  layer.attention.reset();
  layer.norms.before_attention = false;
  const int64_t small = 20 * 8 * 2;
  // Back at the tokens: two copies of 2 kHid and the sum; gate, up and down's input are gone.
  EXPECT_EQ(c.Added(kLayerPhase), kHid + 4 * kHid + kHid);
  EXPECT_EQ(c.Freed(kLayerPhase), 3 * small);
  // The tokens of 4 ranks in place of two copies.
  c.base.layout.expert_parallel_size = 4;
  c.base.batch.expert_dispatch = ExpertDispatch::kAllGather;
  EXPECT_EQ(c.Added(kLayerPhase), kHid + (2 + 4) * kHid + kHid);
}

// The last stage first frees everything after its layers, except logits that are the output.
TEST(LayerBackward, ComesBehindTheHead) {
  TransientCase c = Wide();
  const int64_t middle = c.Freed(kLayerPhase, 0);
  const int64_t ends = StageBytes(c.base, 1) - LayerBytes(c.base);
  EXPECT_EQ(c.Freed(kLayerPhase, 1), middle + ends);
  c.base.batch.loss = LossKind::kPlain;
  const int64_t logits = 10 * 100 * 2;
  EXPECT_EQ(c.Freed(kLayerPhase, 1), middle + StageBytes(c.base, 1) - LayerBytes(c.base) - logits);
  EXPECT_EQ(c.Freed(kForward, 1), StageBytes(c.base, 1) - LayerBytes(c.base));
}

}  // namespace
}  // namespace sextant
