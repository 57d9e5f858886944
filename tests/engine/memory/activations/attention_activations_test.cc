// Activations that attention keeps, row by row, computed by hand.
#include <gtest/gtest.h>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

// Hidden size 64, 8 query heads and 2 key heads of size 16, gated 96, 10 tokens in each of 3
// sequences, bf16, no dropout, flash.
ActivationCase Grouped() {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.hidden_size = 64;
  c.spec.layer_kinds = {DenseLayer(Heads(8, 2, 16), Gated(96))};
  c.batch.sequence_count = 3;
  c.batch.sequence_length = 10;
  return c;
}

TEST(AttentionActivations, OfGroupedHeads) {
  const ActivationCase c = Grouped();
  EXPECT_EQ(RowBytes(c, "norm", "before_attention"), 30 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "input"), 30 * 64 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "query"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "key"), 30 * 2 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "value"), 30 * 2 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "softmax_statistics"), 30 * 8 * 4);
  EXPECT_EQ(RowBytes(c, "attention", "heads"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "output_input"), -1);
  EXPECT_EQ(RowBytes(c, "attention", "dropout_mask"), -1);
  // 8h + 4ae + 4ge + 4a + 6f a token
  EXPECT_EQ(LayerBytes(c), 30 * (8 * 64 + 4 * 128 + 4 * 32 + 4 * 8 + 6 * 96));
}

// Ranks that exchange heads keep as much of queries, keys and values, whose tokens are all and
// whose heads are a part; the output twice, before and after its exchange, unless it is exchanged
// again.
TEST(AttentionActivations, OfExchangedHeads) {
  ActivationCase c = Grouped();
  c.batch.context_parallel_size = 2;
  c.batch.sequence_length = 20;
  const int64_t ring = LayerBytes(c);
  c.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  EXPECT_EQ(RowBytes(c, "attention", "query"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "key"), 30 * 2 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "softmax_statistics"), 30 * 8 * 4);
  EXPECT_EQ(RowBytes(c, "attention", "heads"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "output_input"), 30 * 8 * 16 * 2);
  EXPECT_EQ(LayerBytes(c), ring + 30 * 8 * 16 * 2);
  c.batch.exchanges_output_again = true;
  EXPECT_EQ(LayerBytes(c), ring);
}

// Each of 4 ranks has one head of keys and values: copies of 2.
TEST(AttentionActivations, OfExchangedCopiesOfKeyHeads) {
  ActivationCase c = Grouped();
  c.batch.context_parallel_size = 4;
  c.batch.sequence_length = 40;
  c.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  EXPECT_EQ(RowBytes(c, "attention", "key"), 30 * 4 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "value"), 30 * 4 * 16 * 2);
  // Computed again: with its exchange from the heads as they were made, or after it.
  c.batch.recomputation.policy = RecomputePolicy::kSelective;
  EXPECT_EQ(RowBytes(c, "attention", "key"), 30 * 4 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "heads"), -1);
  EXPECT_EQ(RowBytes(c, "attention", "output_input"), 30 * 8 * 16 * 2);
  c.batch.exchanges_output_again = true;
  EXPECT_EQ(RowBytes(c, "attention", "key"), 30 * 2 * 16 * 2);
}

// With 2 key heads, each of 4 ranks holds a whole one, not half of one.
TEST(AttentionActivations, OfFewerKeyHeadsThanRanks) {
  ActivationCase c = Grouped();
  c.layout.tensor_parallel_size = 4;
  EXPECT_EQ(RowBytes(c, "attention", "query"), 30 * 2 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "key"), 30 * 1 * 16 * 2);
  c.layout.split_key_value_heads = true;
  EXPECT_EQ(RowBytes(c, "attention", "value"), 30 * 1 * 16 * 2);
}

TEST(AttentionActivations, OfLatents) {
  ActivationCase c = Grouped();
  AttentionSpec& attention = *c.spec.layer_kinds[0].attention;
  attention.key_value_head_count = 8;
  attention.query_key_head_size = 24;
  attention.latent = LatentSpec{.query_rank = 40, .key_value_rank = 20, .rotary_size = 8};
  // norm and input 4h, latents 2 2q + 2(r+r') + 2r, queries and keys 4 a d, values and heads
  // 4 a v, statistics 4a; the feed-forward 4h + 6f.
  const int64_t attends = 4 * 64 + 4 * 40 + 2 * 28 + 2 * 20 + 4 * 8 * 24 + 4 * 8 * 16 + 4 * 8;
  EXPECT_EQ(LayerBytes(c), 30 * (attends + 4 * 64 + 6 * 96));
  attention.latent->query_rank = 0;
  EXPECT_EQ(LayerBytes(c), 30 * (attends - 4 * 40 + 4 * 64 + 6 * 96));
  c.batch.recomputation.latent_up_projections = true;  // queries, keys and values
  EXPECT_EQ(LayerBytes(c), 30 * (attends - 4 * 40 - 4 * 8 * 24 - 2 * 8 * 16 + 4 * 64 + 6 * 96));
}

// Latents are whole on every rank, but for their tokens.
TEST(AttentionActivations, OfLatentsUnderTensorParallelism) {
  ActivationCase c = Grouped();
  AttentionSpec& attention = *c.spec.layer_kinds[0].attention;
  attention.key_value_head_count = 8;
  attention.latent = LatentSpec{.key_value_rank = 20, .rotary_size = 8};
  c.layout.tensor_parallel_size = 2;
  EXPECT_EQ(RowBytes(c, "attention", "key_value_latent"), 30 * 28 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "key"), 30 * 4 * 16 * 2);
  c.batch.sequence_parallel = true;
  EXPECT_EQ(RowBytes(c, "attention", "key_value_latent"), 15 * 28 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "key_value_latent_normed"), 15 * 20 * 2);
}

TEST(AttentionActivations, OfNormsOfQueriesAndKeys) {
  ActivationCase c = Grouped();
  const int64_t without = LayerBytes(c);
  c.spec.layer_kinds[0].attention->query_key_norm = QueryKeyNorm::kPerHead;
  EXPECT_EQ(LayerBytes(c), without + 30 * (8 * 16 + 2 * 16) * 2);
}

// The gate before its sigmoid, and the product that the output's matrix reads; a fused core keeps
// the heads anyway, an unfused one does not.
TEST(AttentionActivations, OfOutputGates) {
  ActivationCase c = Grouped();
  const int64_t without = LayerBytes(c);
  c.spec.layer_kinds[0].attention->output_gate = OutputGate::kPerChannel;
  EXPECT_EQ(RowBytes(c, "attention", "output_gate"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "output_input"), 30 * 8 * 16 * 2);
  EXPECT_EQ(LayerBytes(c), without + 30 * 2 * 8 * 16 * 2);
  c.spec.layer_kinds[0].attention->output_gate = OutputGate::kPerHead;
  EXPECT_EQ(RowBytes(c, "attention", "output_gate"), 30 * 8 * 2);
  c.layout.tensor_parallel_size = 2;
  EXPECT_EQ(RowBytes(c, "attention", "output_gate"), 30 * 4 * 2);
  c.layout.tensor_parallel_size = 1;
  c.batch.attention = AttentionKernel::kUnfused;
  EXPECT_EQ(RowBytes(c, "attention", "heads"), 30 * 8 * 16 * 2);
}

TEST(AttentionActivations, OfUnfusedScores) {
  ActivationCase c = Grouped();
  c.batch.attention = AttentionKernel::kUnfused;
  EXPECT_EQ(RowBytes(c, "attention", "softmax"), 3 * 8 * 10 * 10 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "dropped_softmax"), -1);
  EXPECT_EQ(RowBytes(c, "attention", "softmax_statistics"), -1);
  c.batch.dropout = true;
  EXPECT_EQ(RowBytes(c, "attention", "dropped_softmax"), 3 * 8 * 10 * 10 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "softmax_mask"), 3 * 8 * 10 * 10);
  // A rank of context parallelism has half of the queries and all keys.
  c.batch.context_parallel_size = 2;
  EXPECT_EQ(RowBytes(c, "attention", "softmax"), 3 * 8 * 5 * 10 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "query"), 3 * 5 * 8 * 16 * 2);
}

// Neither kernel keeps less where a mask hides something: a fused one keeps no scores, and an
// unfused one computes all of them.
TEST(AttentionActivations, WindowsChangeNothing) {
  for (const AttentionKernel kernel : {AttentionKernel::kFlash, AttentionKernel::kUnfused}) {
    ActivationCase c = Grouped();
    c.batch.attention = kernel;
    const int64_t whole = LayerBytes(c);
    c.spec.layer_kinds[0].attention->window = 2;
    EXPECT_EQ(LayerBytes(c), whole);
    c.spec.layer_kinds[0].attention->mask = AttentionMask::kFull;
    EXPECT_EQ(LayerBytes(c), whole);
  }
}

// Core attention computed again: neither statistics nor scores are kept.
// 2 ae more a token; with one sequence the order of sequences and tokens does not matter.
TEST(AttentionActivations, OfAnOutputThatIsCopied) {
  ActivationCase c = Grouped();
  const int64_t once = LayerBytes(c);
  c.batch.attention_output_copied = true;
  EXPECT_EQ(LayerBytes(c) - once, 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "heads"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "output_input"), 30 * 8 * 16 * 2);
  // Computed again are the kernel's own tensors, not what the matrix reads.
  c.batch.recomputation.policy = RecomputePolicy::kSelective;
  EXPECT_EQ(RowBytes(c, "attention", "heads"), -1);
  EXPECT_EQ(RowBytes(c, "attention", "output_input"), 30 * 8 * 16 * 2);
  // A narrower copy for the matrix is there in any case.
  c.batch.recomputation = {};
  c.batch.matmul_input_data_type = DataType::kFp8E4m3;
  const int64_t narrow = LayerBytes(c);
  c.batch.attention_output_copied = false;
  EXPECT_EQ(LayerBytes(c), narrow);
  c.batch = Grouped().batch;
  c.batch.sequence_count = 1;
  const int64_t one = LayerBytes(c);
  c.batch.attention_output_copied = true;
  EXPECT_EQ(LayerBytes(c), one);
}

TEST(AttentionActivations, UnderSelectiveRecomputation) {
  ActivationCase c = Grouped();
  const int64_t flash = LayerBytes(c);
  const int64_t statistics = 30 * 8 * 4;
  c.batch.recomputation.policy = RecomputePolicy::kSelective;
  EXPECT_EQ(LayerBytes(c), flash - statistics);
  EXPECT_EQ(RecomputedBytes(c), statistics);
  c.batch.attention = AttentionKernel::kUnfused;
  EXPECT_EQ(LayerBytes(c), flash - statistics);
  EXPECT_EQ(RecomputedBytes(c), 3 * 8 * 100 * 2);
}

// Keys and values of cross attention are of the encoder's 7 tokens, its own scores of both.
TEST(AttentionActivations, AcrossStacks) {
  ActivationCase c;
  c.spec = SmallEncoderDecoder();
  const int64_t decoder = c.spec.decoder.layers[0].layer_kind;
  const AttentionSpec& cross = *c.spec.layer_kinds[static_cast<size_t>(decoder)].cross_attention;
  c.batch.sequence_length = 5;
  c.batch.encoder_sequence_length = 7;
  c.batch.attention = AttentionKernel::kUnfused;
  ActivationTensors rows;
  ASSERT_TRUE(
      LayerActivations(c.context(), ModelPart::kDecoder, static_cast<int>(decoder), &rows).ok());
  int found = 0;
  for (const ActivationTensor& row : rows) {
    if (row.module != "cross_attention") continue;
    if (row.name == "query") {
      EXPECT_EQ(row.elements, 5 * cross.head_count * cross.query_key_head_size);
    } else if (row.name == "value") {
      EXPECT_EQ(row.elements, 7 * cross.key_value_head_count * cross.value_head_size);
    } else if (row.name == "softmax") {
      EXPECT_EQ(row.elements, 5 * 7 * cross.head_count);
    } else {
      continue;
    }
    ++found;
  }
  EXPECT_EQ(found, 3);
  // The encoder's own scores, and its output, which the decoder reads, are of its tokens.
  rows.clear();
  StageBytes(c, 0, &rows);
  for (const ActivationTensor& row : rows) {
    if (row.part != ModelPart::kEncoder || row.name != "softmax") continue;
    EXPECT_EQ(row.elements % 49, 0) << row.elements;
    ++found;
  }
  EXPECT_EQ(found, 4);
}

// An fp8 copy of what weights are multiplied with; what attention itself reads stays.
TEST(AttentionActivations, InFp8) {
  ActivationCase c = Grouped();
  c.batch.matmul_input_data_type = DataType::kFp8E4m3;
  EXPECT_EQ(RowBytes(c, "attention", "input"), 30 * 64);
  EXPECT_EQ(RowBytes(c, "attention", "query"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "heads"), 30 * 8 * 16 * 2);
  EXPECT_EQ(RowBytes(c, "attention", "output_input"), 30 * 8 * 16);
  EXPECT_EQ(RowBytes(c, "feed_forward", "down_input"), 30 * 96);
  EXPECT_EQ(RowBytes(c, "feed_forward", "gate"), 30 * 96 * 2);
}

}  // namespace
}  // namespace sextant
