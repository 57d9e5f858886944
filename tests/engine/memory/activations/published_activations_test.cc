// The published formulas of arXiv 2205.05198 as special cases, to the byte, and faults of other
// tools that must not be ours. s tokens, b sequences, h hidden size, a heads, t tensor parallel
// size, V vocabulary.
#include <gtest/gtest.h>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

struct GptSizes {
  int64_t hidden;
  int64_t heads;
  int64_t length;
  int64_t sequences;
  int64_t tensor;
};

class PublishedGptTest : public ::testing::TestWithParam<GptSizes> {
 protected:
  PublishedGptTest() : case_(PublishedGpt(p().hidden, p().heads, p().length)) {
    case_.batch.sequence_count = p().sequences;
  }
  static GptSizes p() { return GetParam(); }
  int64_t sbh() const { return p().length * p().sequences * p().hidden; }
  int64_t as2b() const { return p().heads * p().length * p().length * p().sequences; }
  void Cut(bool sequence_parallel) {
    case_.layout.tensor_parallel_size = p().tensor;
    case_.batch.sequence_parallel = sequence_parallel;
  }

  ActivationCase case_;
};

// Section 4.1: sbh (34 + 5 a s / h).
TEST_P(PublishedGptTest, OneGpu) { EXPECT_EQ(LayerBytes(case_), 34 * sbh() + 5 * as2b()); }

// Section 4.2.1: sbh (10 + 24/t + 5 a s / (h t)).
TEST_P(PublishedGptTest, TensorParallel) {
  Cut(false);
  EXPECT_EQ(LayerBytes(case_), 10 * sbh() + (24 * sbh() + 5 * as2b()) / p().tensor);
}

// Section 4.2.2: sbh/t (34 + 5 a s / h).
TEST_P(PublishedGptTest, TensorAndSequenceParallel) {
  Cut(true);
  EXPECT_EQ(LayerBytes(case_), (34 * sbh() + 5 * as2b()) / p().tensor);
}

// Section 5: sbh/t 34; without sequence parallelism sbh (10 + 24/t).
TEST_P(PublishedGptTest, Selective) {
  case_.batch.recomputation.policy = RecomputePolicy::kSelective;
  Cut(true);
  EXPECT_EQ(LayerBytes(case_), 34 * sbh() / p().tensor);
  Cut(false);
  EXPECT_EQ(LayerBytes(case_), 10 * sbh() + 24 * sbh() / p().tensor);
}

// Section 5: 2 sbh, which sequence parallelism cuts like the rest.
TEST_P(PublishedGptTest, Full) {
  case_.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(LayerBytes(case_), 2 * sbh());
  Cut(false);
  EXPECT_EQ(LayerBytes(case_), 2 * sbh());
  Cut(true);
  EXPECT_EQ(LayerBytes(case_), 2 * sbh() / p().tensor);
}

// Section 4.3: dropout of the embedding sbh/t, final norm and head 4 sbh/t, and fp32 logits
// 4 sbV/t. The token ids, 8 bytes each on all ranks, are ours.
TEST_P(PublishedGptTest, Ends) {
  Cut(true);
  const int64_t tokens = p().length * p().sequences;
  EXPECT_EQ(EndBytes(case_), (5 * sbh() + 4 * tokens * 51200) / p().tensor + 8 * tokens);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PublishedGptTest,
                         ::testing::Values(GptSizes{6144, 64, 2048, 4, 8},  // 22B
                                           GptSizes{12288, 96, 2048, 1, 8},
                                           GptSizes{20480, 128, 2048, 1, 8},
                                           GptSizes{25600, 160, 2048, 1, 8},
                                           GptSizes{64, 4, 16, 3, 2}, GptSizes{8, 1, 5, 1, 1}));

// llm-analysis: keys and values as wide as queries, however few heads they have.
TEST(ActivationPeerFaults, KeysAndValuesOfGroupedHeadsAreNarrower) {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.hidden_size = 8192;
  c.spec.layer_kinds = {DenseLayer(Heads(64, 64, 128), Gated(28672))};
  c.batch.sequence_length = 8192;
  const int64_t multi_head = LayerBytes(c);
  c.spec.layer_kinds[0].attention->key_value_head_count = 8;
  // Keys and values: 2 tensors of 56 heads x 128 x 2 bytes less a token.
  EXPECT_EQ(multi_head - LayerBytes(c), 8192 * 2 * 56 * 128 * 2);
}

// SimuMax: 48 sbh/t where an ungated feed-forward keeps 32 (34 less two dropout masks).
TEST(ActivationPeerFaults, UngatedFeedForwardKeepsItsInnerInputAndOutput) {
  ActivationCase c = PublishedGpt(12288, 96, 2048);
  c.batch.dropout = false;
  c.batch.recomputation.policy = RecomputePolicy::kSelective;
  c.layout.tensor_parallel_size = 8;
  c.batch.sequence_parallel = true;
  EXPECT_EQ(LayerBytes(c), int64_t{32} * 2048 * 12288 / 8);
}

// Megatron-LM's estimate: a mixture's activations as if it had no experts.
TEST(ActivationPeerFaults, ExpertsAreSeen) {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.hidden_size = 4096;
  c.spec.layer_kinds = {DenseLayer(Heads(32, 8, 128), Gated(14336))};
  c.batch.sequence_length = 4096;
  const int64_t dense = LayerBytes(c);
  LayerSpec& layer = c.spec.layer_kinds[0];
  layer.experts = ExpertsSpec{.expert_count = 8, .experts_per_token = 2, .expert = Gated(14336)};
  layer.feed_forward.reset();
  // A second expert, two copies of the token, the router's 8 probabilities.
  EXPECT_EQ(LayerBytes(c) - dense, int64_t{4096} * (6 * 14336 + 2 * 2 * 4096 + 4 * 8));
}

// calculon: scores kept, though a fused kernel has none.
TEST(ActivationPeerFaults, FusedAttentionKeepsNoScores) {
  ActivationCase c = PublishedGpt(4096, 32, 4096);
  c.batch.attention = AttentionKernel::kFlash;
  const int64_t tokens = 4096;
  EXPECT_EQ(LayerBytes(c), tokens * (34 * 4096 + 4 * 32));
}

}  // namespace
}  // namespace sextant
