// Faults of other tools that must not be ours, each under its name.
#include <gtest/gtest.h>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

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
