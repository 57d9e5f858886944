// The attention and the experts of each family, layer by layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/model/config/read_config.h"
#include "engine/model/flops/training_step.h"
#include "tests/engine/model/config/small_configs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

// "w4096 w4096 all": what each layer of the decoder attends to, "+e" where it has experts, "+s"
// where it shares an indexer.
std::string LayersOf(const ConfigFields& fields) {
  const auto model = ReadConfig(fields, "config");
  EXPECT_THAT(model, IsOk());
  if (!model.ok()) return "";
  std::vector<std::string> out;
  for (const LayerRun& run : model->architecture.decoder.layers) {
    const LayerSpec& kind = model->architecture.layer_kinds[static_cast<size_t>(run.layer_kind)];
    std::string words = kind.mixer.has_value() && !kind.attention.has_value() ? "m" : "all";
    if (!kind.attention.has_value()) {
      if (!kind.mixer.has_value()) words = "none";
      if (kind.experts.has_value()) words += "+e";
      for (int64_t i = 0; i < run.count; ++i) out.push_back(words);
      continue;
    }
    if (kind.mixer.has_value()) words += "+m";
    if (kind.attention->window > 0) words = absl::StrCat("w", kind.attention->window);
    if (kind.attention->chunk > 0) words = absl::StrCat("c", kind.attention->chunk);
    if (kind.experts.has_value()) words += "+e";
    const absl::optional<LatentSpec>& latent = kind.attention->latent;
    if (latent.has_value() && latent->indexer.value_or(IndexerSpec()).shared) words += "+s";
    for (int64_t i = 0; i < run.count; ++i) out.push_back(words);
  }
  return absl::StrJoin(out, " ");
}

struct LayersCase {
  ConfigFields fields;
  const char* layers;
};

void ExpectLayers(const std::vector<LayersCase>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(LayersOf(cases[i].fields), cases[i].layers) << "case " << i;
  }
}

ConfigFields Six(absl::string_view model_type, std::vector<ConfigField> more = {}) {
  more.push_back({"num_hidden_layers", 6});
  return SmallConfig(model_type, more);
}

// "m": a mixer in the place of attention; "none": neither.
TEST(FamilyLayers, OfFamiliesWithMixersHaveTheirBranches) {
  ExpectLayers({{SmallConfig("qwen3_5_text"), "m m m all"},
                {SmallConfig("qwen3_5_text", {{"full_attention_interval", 2}}), "m all m all"},
                {With(SmallConfig("qwen3_next"), "layer_types",
                      TextArray({"full_attention", "linear_attention", "linear_attention",
                                 "full_attention"})),
                 "all+e m+e m+e all+e"},
                {SmallConfig("kimi_linear"), "m all+e m+e all+e"},
                {SmallConfig("bailing_hybrid"), "m all+e m+e all+e"},
                // The last layer is after the last whole group.
                {SmallConfig("bailing_hybrid", {{"layer_group_size", 3}}), "m m+e all+e all+e"},
                {SmallConfig("lfm2"), "m all m m"},
                {With(SmallConfig("lfm2", {{"layer_types", nullptr}}), "full_attn_idxs",
                      NumberArray({0, 2})),
                 "all m all m"},
                {SmallConfig("longcat_flash"), "all+e all all+e all"},
                {SmallConfig("gemma4_text"), "w512+e w512+e w512+e all+e"},
                {SmallConfig("nemotron_h"), "m all none none+e"},
                {With(SmallConfig("nemotron_h", {{"hybrid_override_pattern", nullptr}}),
                      "layers_block_type", TextArray({"mamba", "moe", "attention", "mlp"})),
                 "m none+e all none"},
                {SmallConfig("falcon_h1"), "all+m all+m all+m all+m"},
                {SmallConfig("mamba2"), "m m m m"},
                {SmallConfig("bamba"), "m all m m"},
                {SmallConfig("jamba"), "m all+e m m+e"}});
}

TEST(FamilyLayers, OfLaterFamiliesHaveTheirWindowsAndExperts) {
  ExpectLayers({{SmallConfig("exaone4"), "w4096 w4096 w4096 all"},
                {SmallConfig("exaone4", {{"sliding_window", 5}, {"sliding_window_pattern", "LG"}}),
                 "w5 all w5 all"},
                {SmallConfig("exaone4", {{"sliding_window", 5}, {"sliding_window_pattern", 3}}),
                 "w5 w5 all w5"},
                {SmallConfig("exaone4", {{"sliding_window", nullptr}}), "all all all all"},
                {SmallConfig("ministral3"), "all all all all"},
                {SmallConfig("ministral3", {{"sliding_window", 5}}), "w5 w5 w5 w5"},
                {SmallConfig("afmoe", {{"num_dense_layers", 1}}), "w1024 w1024+e w1024+e all+e"},
                {SmallConfig("afmoe", {{"sliding_window", 5}, {"global_attn_every_n_layers", 2}}),
                 "w5+e all+e w5+e all+e"},
                {SmallConfig("step3p5"), "all w512+e all+e w512+e"},
                {SmallConfig("laguna", {{"sliding_window", 5}}), "all all+e all+e all+e"},
                {With(SmallConfig("laguna"), "mlp_layer_types",
                      TextArray({"sparse", "dense", "dense", "sparse"})),
                 "all+e all all all+e"},
                {With(SmallConfig("glm4_moe_lite", {{"first_k_dense_replace", nullptr}}),
                      "mlp_layer_types", TextArray({"dense", "dense", "dense", "sparse"})),
                 "all all all all+e"},
                {With(SmallConfig("glm4_moe"), "mlp_layer_types",
                      TextArray({"dense", "dense", "sparse", "sparse"})),
                 "all all all+e all+e"},
                {SmallConfig("dots1"), "all all+e all+e all+e"},
                {SmallConfig("dots1", {{"sliding_window", 5}, {"max_window_layers", 2}}),
                 "all all+e w5+e w5+e"},
                {SmallConfig("ministral"), "w4096 w4096 w4096 w4096"},
                {SmallConfig("ministral", {{"sliding_window", nullptr}}), "all all all all"},
                {SmallConfig("mimo_v2_flash"), "all w3+e w3+e w3+e"},
                {SmallConfig("ernie4_5_moe"), "all all+e all+e all+e"},
                {SmallConfig("mimo", {{"use_sliding_window", true}, {"max_window_layers", 3}}),
                 "all all all w4096"}});
}

TEST(FamilyLayers, HaveTheirWindowsAsTheFamilysCodeHasThem) {
  ExpectLayers(
      {{SmallConfig("llama", {{"sliding_window", 5}}), "all all all all"},
       {SmallConfig("mistral"), "w4096 w4096 w4096 w4096"},
       {SmallConfig("mistral", {{"sliding_window", nullptr}}), "all all all all"},
       {SmallConfig("mistral", {{"sliding_window", 5}}), "w5 w5 w5 w5"},
       {SmallConfig("phi3"), "all all all all"},
       {SmallConfig("phi3", {{"sliding_window", 2047}}), "w2047 w2047 w2047 w2047"},
       {SmallConfig("starcoder2"), "all all all all"},
       {SmallConfig("starcoder2", {{"sliding_window", 5}}), "w5 w5 w5 w5"},
       {SmallConfig("qwen2", {{"sliding_window", 5}}), "all all all all"},
       {SmallConfig(
            "qwen2",
            {{"sliding_window", 5}, {"use_sliding_window", true}, {"max_window_layers", 3}}),
        "all all all w5"},
       {SmallConfig("qwen2", {{"use_sliding_window", true}, {"max_window_layers", 0}}),
        "w4096 w4096 w4096 w4096"},
       {SmallConfig("qwen2", {{"use_sliding_window", true}}), "all all all all"},
       {SmallConfig(
            "qwen3",
            {{"sliding_window", 5}, {"use_sliding_window", true}, {"max_window_layers", 2}}),
        "all all w5 w5"},
       {SmallConfig("smollm3", {{"sliding_window", 5}}), "all all all all"},
       {SmallConfig("smollm3", {{"sliding_window", 5}, {"use_sliding_window", true}}),
        "all all all w5"},
       {With(SmallConfig("smollm3", {{"sliding_window", 5}, {"use_sliding_window", true}}),
             "no_rope_layers", NumberArray({0, 1, 1, 0})),
        "w5 all all w5"},
       {SmallConfig("gemma2"), "w4096 all w4096 all"},
       {With(
            SmallConfig("gemma2", {{"sliding_window", 5}}), "layer_types",
            TextArray({"full_attention", "full_attention", "full_attention", "sliding_attention"})),
        "all all all w5"},
       {Six("gemma3_text", {{"sliding_window", 5}}), "w5 w5 w5 w5 w5 all"},
       {Six("gemma3_text", {{"sliding_window", 5}, {"sliding_window_pattern", 2}}),
        "w5 all w5 all w5 all"},
       {Six("cohere2"), "w4096 w4096 w4096 all w4096 w4096"},
       {Six("olmo3", {{"sliding_window", 5}}), "w5 w5 w5 all w5 w5"},
       {Six("olmo3", {{"sliding_window", nullptr}}), "all all all all all all"},
       {SmallConfig("gpt_neo"), "all w256 all w256"},
       {SmallConfig("gpt_neo", {{"window_size", 5}}), "all w5 all w5"},
       {With(SmallConfig("gpt_neo"), "attention_types", AttentionTypes({"global"}, 4)),
        "all all all all"}});
}

TEST(FamilyLayers, HaveTheirExpertsAsTheFamilysCodeHasThem) {
  ExpectLayers(
      {{SmallConfig("mixtral"), "all+e all+e all+e all+e"},
       {SmallConfig("mixtral", {{"sliding_window", 5}}), "w5+e w5+e w5+e w5+e"},
       {SmallConfig("gpt_oss"), "w128+e all+e w128+e all+e"},
       {SmallConfig(
            "qwen2_moe",
            {{"sliding_window", 5}, {"use_sliding_window", true}, {"max_window_layers", 2}}),
        "w5+e all+e all+e all+e"},
       {With(SmallConfig("qwen2_moe"), "mlp_only_layers", NumberArray({0, 3})),
        "all all+e all+e all"},
       {SmallConfig("qwen3_moe", {{"decoder_sparse_step", 2}}), "all all+e all all+e"},
       {SmallConfig("qwen3_moe", {{"sliding_window", 5}, {"use_sliding_window", true}}),
        "w5+e w5+e w5+e w5+e"},
       {SmallConfig("llama4_text"), "c8192+e c8192+e c8192+e all+e"},
       {SmallConfig("llama4_text", {{"attention_chunk_size", 5}, {"interleave_moe_layer_step", 2}}),
        "c5 c5+e c5 all+e"},
       {With(With(SmallConfig("llama4_text", {{"attention_chunk_size", 5}}), "no_rope_layers",
                  NumberArray({0, 1, 1, 0})),
             "moe_layers", NumberArray({2})),
        "all c5 c5+e all"},
       {With(SmallConfig("llama4_text", {{"no_rope_layer_interval", 2}}), "no_rope_layers",
             NumberArray({})),
        "c8192+e all+e c8192+e all+e"},
       {SmallConfig("llama4_text", {{"attention_chunk_size", nullptr}}), "all+e all+e all+e all+e"},
       {With(
            SmallConfig("llama4_text"), "layer_types",
            TextArray({"full_attention", "chunked_attention", "full_attention", "full_attention"})),
        "all+e c8192+e all+e all+e"},
       {SmallConfig("deepseek_v3"), "all all+e all+e all+e"}});
}

// indexer_types come first, then the pattern, then the frequency. By it, layer i has an indexer
// where max(i - offset + 1, 0) is a multiple of it, and the offset is 2.
TEST(FamilyLayers, ShareIndexersAsTheFamilysCodeHasIt) {
  const ConfigFields by_types =
      With(SmallConfig("glm_moe_dsa", {{"index_topk_freq", 2}}), "indexer_types",
           TextArray({"full", "full", "full", "shared"}));
  ExpectLayers(
      {{SmallConfig("glm_moe_dsa"), "all all+e all+e all+e"},
       {by_types, "all all+e all+e all+e+s"},
       {SmallConfig("glm_moe_dsa", {{"index_topk_pattern", "FSFS"}}), "all all+e+s all+e all+e+s"},
       {Six("glm_moe_dsa", {{"index_topk_freq", 2}}), "all all+e all+e+s all+e all+e+s all+e"},
       {Six("glm_moe_dsa", {{"index_topk_freq", 3}, {"index_skip_topk_offset", 1}}),
        "all all+e+s all+e+s all+e all+e+s all+e+s"}});
  const auto model = ReadConfig(by_types, "config");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->architecture.layer_kinds.back().name, "experts_no_indexer");
}

TEST(FamilyLayers, AreNamedByWhatSetsThemApart) {
  const std::map<std::string, std::vector<std::string>> names = {
      {"llama", {"dense"}},
      {"mistral", {"dense"}},
      {"mixtral", {"experts"}},
      {"gemma2", {"sliding", "global"}},
      {"gpt_oss", {"sliding", "global"}},
      {"llama4_text", {"chunked", "global"}},
      {"deepseek_v2", {"dense", "experts"}},
      {"t5", {"encoder", "decoder"}},
  };
  for (const auto& [model_type, kinds] : names) {
    const auto model = ReadConfig(SmallConfig(model_type), "config");
    ASSERT_THAT(model, IsOk());
    std::vector<std::string> found;
    for (const LayerSpec& kind : model->architecture.layer_kinds) found.push_back(kind.name);
    EXPECT_EQ(found, kinds) << model_type;
  }
  const auto maverick =
      ReadConfig(SmallConfig("llama4_text", {{"interleave_moe_layer_step", 2}}), "config");
  ASSERT_THAT(maverick, IsOk());
  EXPECT_EQ(maverick->architecture.layer_kinds[0].name, "chunked_dense");
  EXPECT_EQ(maverick->architecture.layer_kinds[1].name, "chunked_experts");
  EXPECT_EQ(maverick->architecture.layer_kinds[2].name, "global_experts");
}

TEST(FamilyLayers, OfOneKindAreOneRun) {
  const auto model = ReadConfig(SmallConfig("deepseek_v2"), "config");
  ASSERT_THAT(model, IsOk());
  ASSERT_EQ(model->architecture.decoder.layers.size(), 2u);
  EXPECT_EQ(model->architecture.decoder.layers[1].count, 3);
}

TEST(FamilyLayers, OfEncodersLookBothWays) {
  const auto bert = ReadConfig(SmallConfig("bert"), "config");
  ASSERT_THAT(bert, IsOk());
  EXPECT_TRUE(bert->architecture.decoder.layers.empty());
  EXPECT_EQ(bert->architecture.layer_kinds[0].attention->mask, AttentionMask::kFull);
  const auto t5 = ReadConfig(SmallConfig("t5"), "config");
  ASSERT_THAT(t5, IsOk());
  EXPECT_EQ(t5->architecture.layer_kinds[0].attention->mask, AttentionMask::kFull);
  EXPECT_EQ(t5->architecture.layer_kinds[1].attention->mask, AttentionMask::kCausal);
  EXPECT_EQ(t5->architecture.layer_kinds[1].cross_attention->mask, AttentionMask::kFull);
}

// OPT's table has two rows that no token has, so that a sequence is as long as the config says.
TEST(FamilyLayers, OptsPositionsStartAtTwo) {
  const auto model = ReadConfig(SmallConfig("opt"), "config");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->architecture.decoder.learned_position_count, 8);
  FieldViolations violations;
  CheckTrainingStep({.sequences = {{1, 6}}}, model->architecture, "step", violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  CheckTrainingStep({.sequences = {{1, 7}}}, model->architecture, "step", violations);
  EXPECT_THAT(violations.ToStatus(), NamesFields(testing::ElementsAre("step.sequences[0].length")));
}

// Norms stand where the published code has them.
TEST(FamilyLayers, HaveTheirNormsInPlace) {
  const auto norms_of = [](absl::string_view model_type, const std::vector<ConfigField>& more) {
    const auto model = ReadConfig(SmallConfig(model_type, more), "config");
    EXPECT_THAT(model, IsOk());
    const LayerNorms n = model->architecture.layer_kinds[0].norms;
    return absl::StrCat(n.before_attention ? "A" : "", n.after_attention ? "a" : "",
                        n.before_feed_forward ? "F" : "", n.after_feed_forward ? "f" : "");
  };
  EXPECT_EQ(norms_of("llama", {}), "AF");
  EXPECT_EQ(norms_of("gptj", {}), "A");
  EXPECT_EQ(norms_of("cohere2", {}), "A");
  EXPECT_EQ(norms_of("gemma3_text", {}), "AaFf");
  EXPECT_EQ(norms_of("olmo2", {}), "af");
  EXPECT_EQ(norms_of("opt", {}), "AF");
  EXPECT_EQ(norms_of("opt", {{"do_layer_norm_before", false}}), "af");
  EXPECT_EQ(norms_of("bert", {}), "af");
}

}  // namespace
}  // namespace sextant
