// The published mixtures of the shared file, exact from the shapes that their rows give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "tests/golden/golden_files.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

// Multi-head latent attention, some dense layers first, then experts. The rows leave out how many
// experts a token meets, which no total depends on.
ArchitectureSpec LatentMixture(const json& c) {
  const int64_t heads = c.at("num_attention_heads");
  const int64_t rotary = c.at("qk_rope_head_dim");
  const int64_t plain = c.at("qk_nope_head_dim");
  const FeedForwardSpec expert = {.kind = FeedForwardKind::kGated,
                                  .size = c.at("moe_intermediate_size")};
  LayerSpec dense = {
      .name = "dense",
      .norm = NormVariant::kRmsNorm,
      .attention = AttentionSpec{.head_count = heads,
                                 .key_value_head_count = heads,
                                 .query_key_head_size = plain + rotary,
                                 .value_head_size = c.at("v_head_dim"),
                                 .latent = LatentSpec{.query_rank = c.at("q_lora_rank"),
                                                      .key_value_rank = c.at("kv_lora_rank"),
                                                      .rotary_size = rotary}}};
  LayerSpec experts = dense;
  experts.name = "experts";
  dense.feed_forward =
      FeedForwardSpec{.kind = FeedForwardKind::kGated, .size = c.at("intermediate_size")};
  experts.experts = ExpertsSpec{.expert_count = c.at("n_routed_experts"),
                                .experts_per_token = 1,
                                .expert = expert,
                                .shared_expert_count = c.at("n_shared_experts"),
                                .shared_expert = expert,
                                .router_correction_bias = c.at("router_correction_bias")};
  const int64_t dense_layers = c.at("first_k_dense_replace");
  const int64_t layers = c.at("num_hidden_layers");
  ArchitectureSpec spec;
  spec.hidden_size = c.at("hidden_size");
  spec.norm = NormVariant::kRmsNorm;
  spec.embedding.vocabulary_size = c.at("vocab_size");
  spec.layer_kinds = {dense, experts};
  spec.decoder.layers = {{.layer_kind = 0, .count = dense_layers},
                         {.layer_kind = 1, .count = layers - dense_layers}};
  spec.output.head = OutputHeadKind::kUntied;
  return spec;
}

TEST(PublishedArchitectureCounts, OfTheSharedMixturesAreExact) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  int rows = 0;
  for (const json& row : SharedLines("golden/published_answers.jsonl")) {
    if (row["kind"] != "parameter_count" || !row.contains("config")) continue;
    if (!row["config"].contains("n_routed_experts")) continue;
    const auto count = CountArchitecture(LatentMixture(row["config"]), "");
    ASSERT_THAT(count, IsOk());
    EXPECT_EQ(count->all.total, row["value"].get<int64_t>()) << row["id"];
    ++rows;
  }
  EXPECT_GT(rows, 0);
}

}  // namespace
}  // namespace sextant
