// A config.json of each family, counted to the parameter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/config/families.h"
#include "engine/model/presets/presets.h"
#include "server/convert/config_text.h"
#include "tests/golden/golden_files.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A file of the source tree.
std::string TextOf(const std::string& path) {
  std::ifstream in(SourceFolder() + "/" + path);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

int64_t CountOf(const ArchitectureSpec& architecture) {
  const auto count = CountArchitecture(architecture, "");
  EXPECT_THAT(count, IsOk());
  return count.ok() ? count->all.total : -1;
}

int64_t CountOf(const std::string& text) {
  const auto model = ReadHuggingFaceConfig(text);
  EXPECT_THAT(model, IsOk()) << text;
  return model.ok() ? CountOf(model->architecture) : -1;
}

// Lists every tensor, and the attention of each run of layers.
std::string Describe(const ArchitectureSpec& architecture) {
  std::string out;
  for (const WeightTensor& t : WeightsOf(architecture)) {
    absl::StrAppend(&out, WeightNameOf(architecture, t), " ", t.rows, "x", t.columns, " ", t.copies,
                    "/", t.active_copies, " ", t.layers, "\n");
  }
  for (const StackSpec* stack : {&architecture.encoder, &architecture.decoder}) {
    for (const LayerRun& run : stack->layers) {
      const LayerSpec& kind = architecture.layer_kinds[static_cast<size_t>(run.layer_kind)];
      absl::StrAppend(&out, kind.name, " ", run.count, " ", kind.attention->window, " ",
                      kind.attention->chunk, "\n");
    }
  }
  return out;
}

// Whole files, including fields that no count depends on; each cites the source of its total.
TEST(HuggingFaceFamilies, CountWholeFilesExactly) {
  const auto rows = GoldenLines("config_json.jsonl");
  ASSERT_EQ(rows.size(), 55u);
  std::set<std::string> families;
  for (const auto& row : rows) {
    const std::string name = row.at("name");
    const std::string text = GoldenConfig(name);
    EXPECT_EQ(CountOf(text), row.at("total_parameters").get<int64_t>()) << name;
    families.insert(json::parse(text).at("model_type"));
    const std::string preset_prefix = "preset ";
    const std::string source = row.at("total_source");
    if (source.rfind(preset_prefix, 0) != 0) continue;
    const auto preset = FindModelPreset(source.substr(preset_prefix.size()));
    ASSERT_THAT(preset, IsOk());
    EXPECT_EQ(Describe(ReadHuggingFaceConfig(text)->architecture),
              Describe((*preset)->architecture))
        << name;
  }
  // Every family has a file, and a line in the document.
  const std::string document = TextOf("docs/config_json.md");
  for (const KnownName& name : KnownModelTypes()) {
    EXPECT_THAT(families, Contains(std::string(name.name)));
    EXPECT_THAT(document, HasSubstr(absl::StrCat("| `", name.name, "` | ",
                                                 FindFamily(name.name)->architecture)));
  }
}

// The default of an absent field, by its effect on the count of a small model: 2 layers, 8 wide, 2
// heads, 16 inside, 10 tokens.
struct DefaultCase {
  const char* name;
  const char* model_type;
  const char* extra;        // fields added to the small model's
  int64_t more_parameters;  // by hand
};

class HuggingFaceDefaults : public ::testing::TestWithParam<DefaultCase> {};

std::string SmallConfig(const std::string& model_type, const std::string& extra) {
  // Fields with other names in a family; null removes a field.
  static const std::map<std::string, const char*> kPatches = {
      {"falcon", R"({"num_key_value_heads": null, "intermediate_size": null})"},
      {"gemma", R"({"head_dim": 4})"},
      {"gpt_neox", R"({"num_key_value_heads": null})"},
      {"opt", R"({"num_key_value_heads": null, "intermediate_size": null, "ffn_dim": 16,
                  "max_position_embeddings": 4})"}};
  json out = json::parse(R"({"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 16,
                             "num_attention_heads": 2, "num_key_value_heads": 2,
                             "vocab_size": 10})");
  out["model_type"] = model_type;
  const auto patch = kPatches.find(model_type);
  if (patch != kPatches.end()) out.merge_patch(json::parse(patch->second));
  out.update(json::parse(extra));
  return out.dump();
}

TEST_P(HuggingFaceDefaults, DifferByTheHandCount) {
  const DefaultCase& c = GetParam();
  EXPECT_EQ(CountOf(SmallConfig(c.model_type, c.extra)) - CountOf(SmallConfig(c.model_type, "{}")),
            c.more_parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Options, HuggingFaceDefaults,
    ::testing::Values(
        // The head is a table of 10 x 8.
        DefaultCase{"LlamaIsUntied", "llama", R"({"tie_word_embeddings": true})", -80},
        DefaultCase{"GemmaIsTied", "gemma", R"({"tie_word_embeddings": false})", 80},
        DefaultCase{"SmolIsTied", "smollm3", R"({"tie_word_embeddings": false})", 80},
        DefaultCase{"OptIsTied", "opt", R"({"tie_word_embeddings": false})", 80},
        DefaultCase{"FalconIsTied", "falcon", R"({"tie_word_embeddings": false})", 80},
        DefaultCase{"CohereIsTied", "cohere", R"({"tie_word_embeddings": false})", 80},
        DefaultCase{"Starcoder2IsTied", "starcoder2", R"({"tie_word_embeddings": false})", 80},
        DefaultCase{"PhiIsUntied", "phi", R"({"tie_word_embeddings": true})", -80},
        // 2 layers x 4 matrices' biases of 8.
        DefaultCase{"LlamaAttentionBias", "llama", R"({"attention_bias": true})", 64},
        DefaultCase{"NeoxAttentionBias", "gpt_neox", R"({"attention_bias": false})", -64},
        DefaultCase{"OlmoAttentionBias", "olmo", R"({"attention_bias": true})", 64},
        // 2 layers x (16 + 16 + 8), and without a gate 2 x (16 + 8).
        DefaultCase{"LlamaMlpBias", "llama", R"({"mlp_bias": true})", 80},
        DefaultCase{"NemotronMlpBias", "nemotron", R"({"mlp_bias": true})", 48},
        // 64 + 48
        DefaultCase{"Starcoder2Bias", "starcoder2", R"({"use_bias": false})", -112},
        DefaultCase{"OptBias", "opt", R"({"enable_bias": false})", -112},
        // 2 layers x 3 x 8
        DefaultCase{"StablelmQkvBias", "stablelm", R"({"use_qkv_bias": true})", 48},
        // One norm (8 + 8) a layer less.
        DefaultCase{"StablelmParallel", "stablelm", R"({"use_parallel_residual": true})", -32},
        // Weights over all heads: 2 layers x (8 + 8).
        DefaultCase{"StablelmQkNorm", "stablelm", R"({"qk_layernorm": true})", 32},
        DefaultCase{"CohereQkNorm", "cohere", R"({"use_qk_norm": true})", 32},
        // All 5 norms of 8 + 8; the last one; the last one again.
        DefaultCase{"OptPlainNorms", "opt", R"({"layer_norm_elementwise_affine": false})", -80},
        DefaultCase{"OptNormsBehind", "opt", R"({"do_layer_norm_before": false})", -16},
        DefaultCase{"OptNoFinalNorm", "opt", R"({"_remove_final_layer_norm": true})", -16},
        // 10 and 4 + 2 rows; tables are 10 x 4 rather than 10 x 8, and 2 projections of 4 x 8.
        DefaultCase{"OptPositions", "opt", R"({"max_position_embeddings": 5})", 8},
        DefaultCase{"OptNarrow", "opt", R"({"word_embed_proj_dim": 4})", 24},
        // Keys and values of 2 heads of 4 rather than 1: 2 layers x 2 x 4 x 8.
        DefaultCase{"FalconAllHeads", "falcon", R"({"multi_query": false})", 128},
        DefaultCase{"FalconOldKvHeads", "falcon", R"({"num_kv_heads": 2})", 0},
        // The new architecture has all heads by default, and a second norm a layer.
        DefaultCase{"FalconNew", "falcon", R"({"new_decoder_architecture": true})", 160},
        DefaultCase{"FalconNewOneHead", "falcon",
                    R"({"new_decoder_architecture": true, "num_kv_heads": 1})", 32},
        DefaultCase{"FalconNewOneNorm", "falcon",
                    R"({"new_decoder_architecture": true, "num_ln_in_parallel_attn": 1})", 128},
        DefaultCase{"FalconSequential", "falcon", R"({"parallel_attn": false})", 32},
        // qkv 8 + 2 x 4, output 8, up 32, down 8: 64 a layer.
        DefaultCase{"FalconBias", "falcon", R"({"bias": true})", 128},
        // 16 rather than 32 inside: 2 layers x 2 x 16 x 8.
        DefaultCase{"FalconInner", "falcon", R"({"ffn_hidden_size": 16})", -512},
        // Heads of 8 rather than 4: 2 layers x 4 x 8 x 8.
        DefaultCase{"LlamaHeadDim", "llama", R"({"head_dim": 8})", 512},
        // Null is absent.
        DefaultCase{"LlamaNullHeadDim", "llama", R"({"head_dim": null})", 0}),
    [](const auto& tested) { return tested.param.name; });

TEST(HuggingFaceFamilies, ListWhatWasNotRead) {
  const auto model = ReadHuggingFaceConfig(
      R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 10,
          "intermediate_size": 16, "num_attention_heads": 2, "architectures": ["LlamaForCausalLM"],
          "torch_dtype": "bfloat16", "sliding_window": 4096, "rope_scaling": {"factor": 8},
          "pad_token_id": null, "quantization_config": {"bits": 4}, "num_local_experts": 1,
          "head_dim": 4, "vision_start_token_id": 7, "house_rule": true,
          "is_encoder_decoder": false, "fused_cross_entropy": true, "router_expert_loss": 0.1,
          "layer_types": ["full_attention", "sliding_attention"]})");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->model_type, "llama");
  EXPECT_THAT(
      model->ignored_fields,
      ElementsAre("fused_cross_entropy", "house_rule", "is_encoder_decoder", "layer_types",
                  "num_local_experts", "quantization_config", "rope_scaling", "router_expert_loss",
                  "sliding_window", "torch_dtype", "vision_start_token_id"));
}

TEST(HuggingFaceFamilies, AreFoundByArchitectureWhereModelTypeIsMissing) {
  const auto model = ReadHuggingFaceConfig(
      R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 8,
          "vocab_size": 10, "intermediate_size": 16, "num_attention_heads": 2})");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->model_type, "llama");
  EXPECT_THAT(model->ignored_fields, Not(Contains("architectures")));
}

}  // namespace
}  // namespace sextant::server
