// Published parameter counts, exact: from their published shapes and from the presets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/dense_decoder.h"
#include "engine/model/presets/presets.h"
#include "tests/golden/golden_files.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

int64_t CountOf(const TransformerSpec& spec) {
  FieldViolations violations;
  CheckTransformer(spec, "", violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  const auto count = CountArchitecture(DenseDecoder(spec), "");
  EXPECT_THAT(count, IsOk());
  return count.ok() ? count->all.total : -1;
}

NormKind NormKindOf(const std::string& norm) {
  if (norm == "LayerNorm") return NormKind::kLayerNorm;
  if (norm == "RMSNorm") return NormKind::kRmsNorm;
  return NormKind::kNonParametric;
}

TransformerSpec SpecOf(const json& c) {
  TransformerSpec spec;
  spec.layer_count = c.at("num_hidden_layers");
  spec.hidden_size = c.at("hidden_size");
  spec.feed_forward_size = c.at("intermediate_size");
  spec.attention_head_count = c.at("num_attention_heads");
  spec.key_value_head_count = c.at("num_key_value_heads");
  spec.head_size = c.at("head_dim");
  spec.vocabulary_size = c.at("vocab_size");
  spec.tied_embeddings = c.at("tie_word_embeddings");
  spec.learned_position_count = c.value("learned_positions", 0);
  spec.feed_forward_kind =
      c.at("glu_mlp").get<bool>() ? FeedForwardKind::kGated : FeedForwardKind::kPlain;
  spec.norm_kind = NormKindOf(c.at("norm"));
  spec.norms_per_layer = c.at("norms_per_layer");
  const std::string query_key_norm = c.value("qk_norm", "");
  if (query_key_norm == "head") spec.query_key_norm = QueryKeyNorm::kPerHead;
  if (query_key_norm == "full") spec.query_key_norm = QueryKeyNorm::kAllHeads;
  spec.query_key_value_bias = c.at("qkv_bias");
  spec.attention_output_bias = c.at("attn_out_bias");
  spec.feed_forward_bias = c.at("mlp_bias");
  spec.output_head_bias = c.value("output_head_bias", false);
  return spec;
}

TEST(PublishedParameterCounts, FromShapesAreExact) {
  const auto rows = GoldenLines("published_parameter_counts.jsonl");
  ASSERT_EQ(rows.size(), 34u);
  for (const json& row : rows) {
    const TransformerSpec spec =
        row.contains("config") ? SpecOf(row["config"])
                               : (*FindModelPreset(row["preset"].get<std::string>()))->transformer;
    EXPECT_EQ(CountOf(spec), row["value"].get<int64_t>()) << row["id"];
  }
}

// Every preset against its own total; the file says where each total was read.
TEST(PublishedParameterCounts, OfEveryPresetAreExact) {
  const auto rows = GoldenRows("model_presets.csv");
  EXPECT_EQ(rows.size(), ModelPresets().size());
  for (const auto& row : rows) {
    const auto preset = FindModelPreset(row.at("name"));
    ASSERT_THAT(preset, IsOk());
    EXPECT_EQ((*preset)->name, row.at("name"));
    EXPECT_EQ(std::to_string(CountOf((*preset)->transformer)), row.at("total_parameters"))
        << row.at("name");
  }
}

// Every dense model of the shared file is among the rows above.
TEST(PublishedParameterCounts, CoverEveryDenseModelOfTheSharedFile) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  std::map<std::string, int64_t> here;
  for (const json& row : GoldenLines("published_parameter_counts.jsonl")) {
    here[row["id"]] = row["value"];
  }
  for (const json& row : SharedLines("golden/published_answers.jsonl")) {
    if (row["kind"] != "parameter_count") continue;
    const json& config = row.value("config", json());
    const bool experts = config.is_object() && config.contains("n_routed_experts");
    if (experts) continue;
    ASSERT_TRUE(here.count(row["id"]) == 1) << row["id"];
    EXPECT_EQ(here[row["id"]], row["value"].get<int64_t>()) << row["id"];
  }
}

}  // namespace
}  // namespace sextant
