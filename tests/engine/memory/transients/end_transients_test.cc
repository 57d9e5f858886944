// Transients of the loss, the output head and a pipeline, computed by hand.
#include <gtest/gtest.h>

#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

using Bytes_ = std::map<std::string, int64_t>;
constexpr StagePhase kLoss = StagePhase::kLoss;
constexpr StagePhase kHead = StagePhase::kHead;
constexpr int64_t kLogits = 6 * 128;

// Hidden size 8, vocabulary 100 padded to 128, 6 tokens.
TransientCase Small() {
  TransientCase c;
  c.base.spec = SmallDecoder();
  c.base.spec.embedding.padded_vocabulary_size = 128;
  c.base.batch.sequence_length = 6;
  return c;
}

TEST(LossTransients, OfAVocabularyParallelLoss) {
  const TransientCase c = Small();
  EXPECT_EQ(c.ByName(kLoss), (Bytes_{{"loss.logits", kLogits * 2}}));
  EXPECT_EQ(c.Freed(kLoss), 0);
  EXPECT_EQ(c.ByName(kHead), (Bytes_{{"output_head.logits_gradient", kLogits * 2},
                                     {"output_head.input_gradient", 6 * 8 * 2}}));
  EXPECT_EQ(c.Freed(kHead), kLogits * 4);  // the softmax
}

// The softmax is made over the logits themselves, and becomes the gradient that the head reads.
TEST(LossTransients, InFp32TheSoftmaxIsTheGradient) {
  TransientCase c = Small();
  c.base.batch.compute_data_type = DataType::kFp32;
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.ByName(kHead), (Bytes_{{"output_head.input_gradient", 6 * 8 * 4}}));
  EXPECT_EQ(c.Freed(kHead), 0);
}

// 10 bytes a logit in total: 4 are kept; the logits, 2, and the exponentials, 4, are not.
TEST(LossTransients, OfACompiledVocabularyParallelLoss) {
  TransientCase c = Small();
  c.base.batch.loss = LossKind::kVocabularyParallelCompiled;
  EXPECT_EQ(c.ByName(kLoss),
            (Bytes_{{"loss.exponentials", kLogits * 4}, {"loss.logits", kLogits * 2}}));
  EXPECT_EQ(c.Added(kLoss), kLogits * 6);
  EXPECT_EQ(c.Freed(kHead), kLogits * 4);  // the softmax
  TransientCase plain = Small();
  EXPECT_EQ(EndBytes(c.base), EndBytes(plain.base));
  EXPECT_EQ(c.ByName(kHead), plain.ByName(kHead));
  c.base.batch.compute_data_type = DataType::kFp32;
  EXPECT_EQ(c.Added(kLoss), kLogits * 4);
  EXPECT_EQ(c.Freed(kHead), 0);
}

// log_softmax's gradient and its input's, both in fp32, in addition to 2 + 4 bytes kept a logit.
TEST(LossTransients, OfAPlainLoss) {
  TransientCase c = Small();
  c.base.batch.loss = LossKind::kPlain;
  EXPECT_EQ(c.ByName(kLoss), (Bytes_{{"loss.log_softmax_gradient", kLogits * 4},
                                     {"loss.logits_gradient", kLogits * 4}}));
  EXPECT_EQ(c.Added(kHead), kLogits * 2 + 6 * 8 * 2);
  EXPECT_EQ(c.Freed(kHead), kLogits * 4);
}

// (grad_input + exp(x)) grad_output of logits that two ranks divide: three tensors in fp32.
TEST(LossTransients, OfAPlainLossOverDividedLogits) {
  TransientCase c = Small();
  c.base.batch.loss = LossKind::kPlain;
  c.base.layout.tensor_parallel_size = 2;
  EXPECT_EQ(c.ByName(kLoss), (Bytes_{{"loss.log_softmax_gradient", kLogits / 2 * 4},
                                     {"loss.logits_gradient", kLogits / 2 * 4},
                                     {"loss.probabilities", kLogits / 2 * 4}}));
}

// The copy in fp32 of the logits that a model returns stays to the end of the step.
TEST(LossTransients, WideOutputsStay) {
  TransientCase c = Small();
  c.base.batch.loss = LossKind::kPlain;
  c.buffers.wide_outputs = true;
  EXPECT_EQ(c.ByName(kLoss)["loss.returned_logits"], kLogits * 4);
  EXPECT_EQ(c.ByName(kHead)["output_head.returned_logits"], kLogits * 4);
  c.base.batch.compute_data_type = DataType::kFp32;  // they are wide already
  EXPECT_EQ(c.ByName(kLoss).count("loss.returned_logits"), 0u);
}

TEST(LossTransients, OfAFusedAndOfAChunkedLoss) {
  TransientCase c = Small();
  c.base.batch.loss = LossKind::kFused;
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.Added(kHead), 6 * 8 * 2);
  EXPECT_EQ(c.Freed(kHead), 6 * 4);
  c.base.batch.loss = LossKind::kChunked;
  c.base.batch.loss_chunk_tokens = 2;
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.Added(kHead), 0);
  c.buffers.fused_weight_gradient = false;  // computed in the forward pass
  EXPECT_EQ(c.Added(kLoss), 128 * 8 * 2);
  EXPECT_EQ(c.Added(kHead), 128 * 8 * 2);
}

// 2 ranks of tensor parallelism: half of the logits and of the weight gradient; the input of all
// tokens, and its gradient before it is summed and scattered.
TEST(HeadTransients, UnderSequenceParallelism) {
  TransientCase c = Small();
  c.base.layout.tensor_parallel_size = 2;
  c.base.batch.sequence_parallel = true;
  c.buffers.fused_weight_gradient = false;
  c.gradient_data_type = DataType::kFp32;
  EXPECT_EQ(c.ByName(kHead), (Bytes_{{"output_head.weight_gradient", 64 * 8 * 4},
                                     {"output_head.logits_gradient", 6 * 64 * 2},
                                     {"output_head.input_gradient", 3 * 8 * 2},
                                     {"output_head.gathered_input", 6 * 8 * 2},
                                     {"output_head.unreduced_input_gradient", 6 * 8 * 2}}));
}

// In the type that is computed in, as the weights that it stands for.
TEST(HeadTransients, APlaceholderIsAsLargeAsTheWeights) {
  TransientCase c = Small();
  c.head_placeholder = true;
  EXPECT_EQ(c.ByName(kHead), (Bytes_{{"output_head.placeholder_gradient", 128 * 8 * 2},
                                     {"output_head.logits_gradient", kLogits * 2},
                                     {"output_head.input_gradient", 6 * 8 * 2}}));
  EXPECT_EQ(c.Added(kLoss), kLogits * 2);
  c.base.layout.tensor_parallel_size = 2;
  EXPECT_EQ(c.ByName(kHead)["output_head.placeholder_gradient"], 64 * 8 * 2);
  c.base.batch.loss = LossKind::kChunked;  // gradients are computed chunk by chunk
  c.base.batch.loss_chunk_tokens = 2;
  EXPECT_EQ(c.Added(kHead), 0);
}

TEST(HeadTransients, OfNone) {
  TransientCase c = Small();
  c.base.spec.output = {.head = OutputHeadKind::kNone};
  EXPECT_EQ(c.Added(kLoss), 0);
  EXPECT_EQ(c.Added(kHead), 0);
}

TEST(ReceiveBuffers, StandBetweenStages) {
  TransientCase c = Small();
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

}  // namespace
}  // namespace sextant
