// One GPU's part of each tensor, computed by hand for each rule.
#include "engine/model/sharding/tensor_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/model/architecture/model_weights.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

struct Expected {
  const char* name;
  int64_t rows;
  int64_t columns;
  int64_t holders;
  int64_t copies = 1;
};

// The tensors named have these shards, and the group of the experts if `expert`.
void ExpectShards(const ArchitectureSpec& spec, const ParallelLayout& layout,
                  const std::vector<Expected>& expected, ShardGroup group = ShardGroup::kDense) {
  const WeightTensors tensors = WeightsOf(spec);
  for (const Expected& e : expected) {
    SCOPED_TRACE(e.name);
    int found = 0;
    for (const WeightTensor& tensor : tensors) {
      if (WeightNameOf(spec, tensor) != e.name) continue;
      const TensorShard shard = ShardOf(spec, tensor, layout);
      EXPECT_EQ(shard.rows, e.rows);
      EXPECT_EQ(shard.columns, e.columns);
      EXPECT_EQ(shard.copies, e.copies);
      EXPECT_EQ(shard.holders, e.holders);
      EXPECT_EQ(shard.group, group);
      EXPECT_EQ(shard.elements() * shard.ranks,
                tensor.rows * tensor.columns * tensor.copies * shard.holders);
      ++found;
    }
    EXPECT_EQ(found, 1);
  }
}

// Hidden size 8; 4 query heads, 2 key heads of size 2; gated 32; everything with biases.
ArchitectureSpec Biased() {
  ArchitectureSpec spec = SmallDecoder();
  spec.norm = NormVariant::kLayerNorm;
  LayerSpec& layer = spec.layer_kinds[0];
  layer.norm = NormVariant::kLayerNorm;
  AttentionSpec& attention = *layer.attention;
  attention.query_bias = attention.key_bias = attention.value_bias = attention.output_bias = true;
  attention.query_key_norm = QueryKeyNorm::kAllHeads;
  attention.sinks = true;
  layer.feed_forward->input_bias = layer.feed_forward->output_bias = true;
  return spec;
}

TEST(TensorShard, CutsAttentionByHeads) {
  ExpectShards(Biased(), {.tensor_parallel_size = 2},
               {{"decoder.dense.attention.query.weight", 4, 8, 1},
                {"decoder.dense.attention.query.bias", 4, 1, 1},
                {"decoder.dense.attention.key.weight", 2, 8, 1},
                {"decoder.dense.attention.key.bias", 2, 1, 1},
                {"decoder.dense.attention.value.weight", 2, 8, 1},
                {"decoder.dense.attention.value.bias", 2, 1, 1},
                {"decoder.dense.attention.query_norm.weight", 4, 1, 1},
                {"decoder.dense.attention.query_norm.bias", 4, 1, 1},
                {"decoder.dense.attention.key_norm.weight", 2, 1, 1},
                {"decoder.dense.attention.sinks.weight", 2, 1, 1},
                {"decoder.dense.attention.output.weight", 8, 4, 1},
                {"decoder.dense.attention.output.bias", 8, 1, 2}});
}

// Four ranks, two key heads: each is held by two ranks.
TEST(TensorShard, CopiesKeyHeadsWhereThereAreFewerThanRanks) {
  ExpectShards(Biased(), {.tensor_parallel_size = 4},
               {{"decoder.dense.attention.query.weight", 2, 8, 1},
                {"decoder.dense.attention.key.weight", 2, 8, 2},
                {"decoder.dense.attention.key.bias", 2, 1, 2},
                {"decoder.dense.attention.value.weight", 2, 8, 2},
                {"decoder.dense.attention.query_norm.weight", 2, 1, 1},
                {"decoder.dense.attention.key_norm.weight", 2, 1, 2},
                {"decoder.dense.attention.output.weight", 8, 2, 1}});
}

// Or each rank holds half a key head: no parameter is copied.
TEST(TensorShard, SplitsKeyHeadsIfToldTo) {
  ExpectShards(Biased(), {.tensor_parallel_size = 4, .split_key_value_heads = true},
               {{"decoder.dense.attention.query.weight", 2, 8, 1},
                {"decoder.dense.attention.key.weight", 1, 8, 1},
                {"decoder.dense.attention.value.bias", 1, 1, 1},
                {"decoder.dense.attention.key_norm.weight", 1, 1, 1}});
}

TEST(TensorShard, LeavesNormsWhole) {
  ArchitectureSpec spec = Biased();
  spec.layer_kinds[0].attention->query_key_norm = QueryKeyNorm::kPerHead;
  ExpectShards(spec, {.tensor_parallel_size = 2},
               {{"decoder.dense.attention.query_norm.weight", 2, 1, 2},
                {"decoder.dense.attention.key_norm.weight", 2, 1, 2},
                {"decoder.dense.norm.before_attention.weight", 8, 1, 2},
                {"decoder.dense.norm.before_feed_forward.bias", 8, 1, 2},
                {"decoder.norm.final.weight", 8, 1, 2}});
}

TEST(TensorShard, CutsFeedForwardByNeurons) {
  ExpectShards(Biased(), {.tensor_parallel_size = 4},
               {{"decoder.dense.feed_forward.gate.weight", 8, 8, 1},
                {"decoder.dense.feed_forward.gate.bias", 8, 1, 1},
                {"decoder.dense.feed_forward.up.weight", 8, 8, 1},
                {"decoder.dense.feed_forward.down.weight", 8, 8, 1},
                {"decoder.dense.feed_forward.down.bias", 8, 1, 4}});
}

TEST(TensorShard, CutsCrossAttentionAsAttention) {
  ExpectShards(SmallEncoderDecoder(), {.tensor_parallel_size = 4},
               {{"decoder.decoder.cross_attention.query.weight", 2, 8, 1},
                {"decoder.decoder.cross_attention.key.weight", 2, 8, 1},
                {"decoder.decoder.cross_attention.output.weight", 8, 2, 1}});
}

// 4 heads of 2 features, one of them rotary; latents of 3 and 5.
TEST(TensorShard, LeavesLatentsWholeAndCutsWhatExpandsThem) {
  ArchitectureSpec spec = SmallDecoder();
  AttentionSpec& attention = *spec.layer_kinds[0].attention;
  attention.key_value_head_count = 4;
  attention.latent =
      LatentSpec{.query_rank = 3, .key_value_rank = 5, .rotary_size = 1, .down_bias = true};
  ExpectShards(spec, {.tensor_parallel_size = 2},
               {{"decoder.dense.attention.query_down.weight", 3, 8, 2},
                {"decoder.dense.attention.query_down.bias", 3, 1, 2},
                {"decoder.dense.attention.query_latent_norm.weight", 3, 1, 2},
                {"decoder.dense.attention.query_up.weight", 4, 3, 1},
                {"decoder.dense.attention.key_value_down.weight", 6, 8, 2},
                {"decoder.dense.attention.key_value_latent_norm.weight", 5, 1, 2},
                {"decoder.dense.attention.key_value_up.weight", 6, 5, 1},  // 4 (1 + 2) / 2
                {"decoder.dense.attention.output.weight", 8, 4, 1}});
}

TEST(TensorShard, CutsTheVocabularyAndLeavesTheRestAroundLayersWhole) {
  ArchitectureSpec spec = SmallDecoder();
  spec.embedding.embedding_size = 4;
  spec.embedding.token_type_count = 2;
  spec.decoder.learned_position_count = 5;
  spec.decoder.relative_position_bucket_count = 6;
  spec.decoder.embedding_norm = true;
  spec.output = {.head = OutputHeadKind::kUntied,
                 .head_bias = true,
                 .transform = true,
                 .pooler = true,
                 .pooled_class_count = 3};
  spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 1};
  ExpectShards(spec, {.tensor_parallel_size = 2},
               {{"input.token_embedding.weight", 50, 4, 1},
                {"input.token_type_embedding.weight", 2, 4, 2},
                {"input.embedding_projection.into.weight", 8, 4, 2},
                {"decoder.position_embedding.weight", 5, 8, 2},
                {"decoder.relative_position_bias.weight", 6, 4, 2},
                {"decoder.norm.embedding.weight", 8, 1, 2},
                {"output.pooler.weight", 8, 8, 2},
                {"output.pooler.classifier.weight", 3, 8, 2},
                {"output.output_transform.weight", 8, 8, 2},
                {"output.output_transform.norm.weight", 8, 1, 2},
                {"output.embedding_projection.out_of.weight", 4, 8, 2},
                {"output.output_head.weight", 50, 4, 1},
                {"output.output_head.bias", 50, 1, 1},
                {"multi_token_prediction.norm.token.weight", 8, 1, 2},
                {"multi_token_prediction.projection.weight", 4, 16, 1}});
}

// 4 experts of 6 neurons and two shared ones of 3, everything with biases.
ArchitectureSpec SharedMixture() {
  ArchitectureSpec spec = SmallMixture();
  ExpertsSpec& experts = *spec.layer_kinds[0].experts;
  experts.expert = Plain(6);
  experts.shared_expert_count = 2;
  experts.shared_expert = Plain(3);
  experts.shared_expert_gate = experts.router_bias = experts.router_correction_bias = true;
  return spec;
}

constexpr char kUp[] = "decoder.experts.experts.up.weight";

TEST(TensorShard, DealsExpertsOutAndCutsEach) {
  const ParallelLayout layout = {
      .tensor_parallel_size = 2, .expert_parallel_size = 2, .expert_tensor_parallel_size = 3};
  ExpectShards(SharedMixture(), layout,
               {{kUp, 2, 8, 1, 2},
                {"decoder.experts.experts.up.bias", 2, 1, 1, 2},
                {"decoder.experts.experts.down.weight", 8, 2, 1, 2},
                {"decoder.experts.experts.down.bias", 8, 1, 3, 2}},
               ShardGroup::kExpert);
}

TEST(TensorShard, CutsExpertsByTensorParallelismUnlessToldOtherwise) {
  ExpectShards(SharedMixture(), {.tensor_parallel_size = 2}, {{kUp, 3, 8, 1, 4}},
               ShardGroup::kExpert);
}

TEST(TensorShard, CutsSharedExpertsAsDenseAndTogetherIfNeedBe) {
  ArchitectureSpec spec = SharedMixture();
  const ParallelLayout layout = {.tensor_parallel_size = 2, .expert_parallel_size = 4};
  ExpectShards(spec, layout,
               {{"decoder.experts.shared_experts.up.weight", 3, 8, 1},  // 2 x 3 / 2
                {"decoder.experts.shared_experts.up.bias", 3, 1, 1},
                {"decoder.experts.shared_experts.down.weight", 8, 3, 1},
                {"decoder.experts.shared_experts.down.bias", 8, 1, 2, 2},
                {"decoder.experts.shared_experts.token_gate.weight", 1, 8, 2},
                {"decoder.experts.router.weight", 4, 8, 2},
                {"decoder.experts.router.bias", 4, 1, 2},
                {"decoder.experts.router.correction.weight", 4, 1, 2}});
  spec.layer_kinds[0].experts->shared_expert = Gated(4);
  ExpectShards(spec, layout, {{"decoder.experts.shared_experts.up.weight", 2, 8, 1, 2}});
}

TEST(TensorShard, CutsAdaptersAlongTheAxisOfTheirMatrix) {
  ArchitectureSpec spec = SharedMixture();
  spec.adapters = AdapterSpec{.rank = 3,
                              .targets = {{"token_embedding", ""},
                                          {"attention", "query"},
                                          {"attention", "key"},
                                          {"attention", "output"},
                                          {"router", ""},
                                          {"experts", "up"},
                                          {"experts", "down"}}};
  const ParallelLayout layout = {
      .tensor_parallel_size = 4, .expert_parallel_size = 2, .expert_tensor_parallel_size = 3};
  ExpectShards(spec, layout,
               {{"input.token_embedding.adapter_down", 3, 8, 4},
                {"input.token_embedding.adapter_up", 25, 3, 1},
                {"decoder.experts.attention.query.adapter_down", 3, 8, 4},
                {"decoder.experts.attention.query.adapter_up", 2, 3, 1},
                {"decoder.experts.attention.key.adapter_down", 3, 8, 4},
                {"decoder.experts.attention.key.adapter_up", 2, 3, 2},
                {"decoder.experts.attention.output.adapter_down", 3, 2, 1},
                {"decoder.experts.attention.output.adapter_up", 8, 3, 4},
                {"decoder.experts.router.adapter_down", 3, 8, 4},
                {"decoder.experts.router.adapter_up", 4, 3, 4}});
  ExpectShards(spec, layout,
               {{"decoder.experts.experts.up.adapter_down", 3, 8, 3, 2},
                {"decoder.experts.experts.up.adapter_up", 2, 3, 1, 2},
                {"decoder.experts.experts.down.adapter_down", 3, 2, 1, 2},
                {"decoder.experts.experts.down.adapter_up", 8, 3, 3, 2}},
               ShardGroup::kExpert);
}

}  // namespace
}  // namespace sextant
