// Published parameter counts, exact: from their published shapes and from the presets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/presets/presets.h"
#include "engine/model/transformer_spec.h"
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
  int counted = 0;
  for (const json& row : GoldenLines("published_parameter_counts.jsonl")) {
    if (!row.contains("config") || row["config"].contains("n_routed_experts")) continue;
    EXPECT_EQ(CountOf(SpecOf(row["config"])), row["value"].get<int64_t>()) << row["id"];
    ++counted;
  }
  EXPECT_EQ(counted, 32);
}

ArchitectureCount CountOfPreset(const std::string& name) {
  const auto preset = FindModelPreset(name);
  EXPECT_THAT(preset, IsOk());
  if (!preset.ok()) return {};
  EXPECT_EQ((*preset)->name, name);
  const auto count = CountArchitecture((*preset)->architecture, "");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

// Every preset against its own total; the file says where each total was read.
TEST(PublishedParameterCounts, OfEveryPresetAreExact) {
  const auto rows = GoldenRows("model_presets.csv");
  EXPECT_EQ(rows.size(), ModelPresets().size());
  for (const auto& row : rows) {
    EXPECT_EQ(std::to_string(CountOfPreset(row.at("name")).all.total), row.at("total_parameters"))
        << row.at("name");
  }
}

// Active parameters of mixtures, as far as they are published: mostly rounded, of the main model,
// and some without the token embedding. Of the rest all are active.
TEST(PublishedParameterCounts, OfActiveParametersAreWithinTheirRounding) {
  int mixtures = 0;
  for (const auto& row : GoldenRows("model_presets.csv")) {
    const ArchitectureCount count = CountOfPreset(row.at("name"));
    const std::string& source = row.at("active_source");
    if (source.empty()) {
      EXPECT_EQ(count.all.active, count.all.total) << row.at("name");
      continue;
    }
    int64_t active = count.all.active - count.of(ModelPart::kMultiTokenPrediction).active;
    if (source.find("without token embedding") != std::string::npos) {
      active -= count.of(WeightComponent::kTokenEmbedding).total;
    }
    EXPECT_GE(active, std::stoll(row.at("active_low"))) << row.at("name");
    EXPECT_LE(active, std::stoll(row.at("active_high"))) << row.at("name");
    ++mixtures;
  }
  EXPECT_EQ(mixtures, 48);
}

// Every published count of the shared file is among the rows here, and is a preset's.
TEST(PublishedParameterCounts, OfTheSharedFileArePresets) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  std::map<std::string, int64_t> here;
  for (const json& row : GoldenLines("published_parameter_counts.jsonl")) {
    here[row["id"]] = row["value"];
  }
  std::map<std::string, std::string> presets;  // by the row that their total cites
  for (const auto& row : GoldenRows("model_presets.csv")) {
    const std::string& source = row.at("total_source");
    const std::string words = "(golden row ";
    const size_t at = source.find(words);
    if (at == std::string::npos) continue;
    const size_t start = at + words.size();
    presets[source.substr(start, source.find(')', start) - start)] = row.at("name");
  }
  int counted = 0;
  for (const json& row : SharedLines("golden/published_answers.jsonl")) {
    if (row["kind"] != "parameter_count") continue;
    const std::string id = row["id"];
    ASSERT_EQ(here.count(id), 1u) << id;
    EXPECT_EQ(here[id], row["value"].get<int64_t>()) << id;
    ASSERT_EQ(presets.count(id), 1u) << id;
    EXPECT_EQ(CountOfPreset(presets[id]).all.total, row["value"].get<int64_t>()) << id;
    ++counted;
  }
  EXPECT_EQ(counted, 35);
}

}  // namespace
}  // namespace sextant
