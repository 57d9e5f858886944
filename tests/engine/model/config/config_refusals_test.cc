// Configs that contradict themselves, or leave out what no family can do without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/model/config/read_config.h"
#include "tests/engine/model/config/small_configs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Kind = ConfigValue::Kind;

ConfigFields Without(ConfigFields fields, const std::string& name) {
  fields.erase(name);
  return fields;
}

ConfigValue Number(const char* digits) { return {.kind = Kind::kOtherNumber, .text = digits}; }

// nemotron-nas with `value` as a further member of its first layer's attention.
ConfigFields WithBlockMember(const char* name, ConfigValue value) {
  ConfigFields fields = SmallConfig("nemotron-nas");
  value.name = name;
  fields["block_configs"].elements.front().elements.front().elements.push_back(value);
  return fields;
}

struct RefusedCase {
  ConfigFields fields;
  const char* field;
  const char* words;
};

// The one violation of each stands at "config.<field>" and says `words`.
void ExpectRefused(const std::vector<RefusedCase>& cases) {
  for (const RefusedCase& c : cases) {
    const absl::Status status = ReadConfig(c.fields, "config").status();
    EXPECT_THAT(status, NamesFields(ElementsAre(FieldPath("config", c.field)))) << c.words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.words)) << c.field;
  }
}

TEST(ConfigRefusals, OfLayersNameTheFieldAndTheRemedy) {
  ExpectRefused(
      {{With(SmallConfig("gemma2"), "layer_types",
             TextArray({"full_attention", "sliding_attention"})),
        "layer_types", "names 2 layers, not 4: write one a layer"},
       {With(SmallConfig("gemma2"), "layer_types",
             TextArray({"full_attention", "linear_attention", "full_attention", "full_attention"})),
        "layer_types", "others hold other parameters"},
       {SmallConfig("gemma2", {{"layer_types", "full_attention"}}), "layer_types",
        "must be an array of names, not \"full_attention\""},
       {With(SmallConfig("gemma2"), "layer_types", NumberArray({1, 1, 1, 1})), "layer_types",
        "must be an array of names, not of others"},
       {With(
            SmallConfig("qwen2"), "layer_types",
            TextArray({"full_attention", "full_attention", "full_attention", "sliding_attention"})),
        "sliding_window", "is required: layer_types names sliding_attention"},
       {With(
            SmallConfig("gemma2"), "layer_types",
            TextArray({"full_attention", "full_attention", "full_attention", "chunked_attention"})),
        "layer_types", "no chunk is known"},
       {SmallConfig("gemma3_text", {{"sliding_window_pattern", 0}}), "sliding_window_pattern",
        "from 1 to 1000000000"},
       {SmallConfig("mistral", {{"sliding_window", 0}}), "sliding_window", "from 1 to 1000000000"},
       {SmallConfig("mistral", {{"sliding_window", "4096"}}), "sliding_window",
        "write 4096 without quotes"},
       {SmallConfig("mistral", {{"sliding_window", int64_t{2'000'000'000}}}), "sliding_window",
        "not 2000000000"},
       {SmallConfig("gemma3_text", {{"use_bidirectional_attention", true}}),
        "use_bidirectional_attention", "attend to later ones"},
       {Without(SmallConfig("gpt_neo"), "attention_types"), "attention_types",
        "transformers takes 24 layers"},
       {With(SmallConfig("gpt_neo"), "attention_types",
             AttentionTypes({"global", "local"}, 1'000'000'000)),
        "attention_types", "4 in all"},
       {With(SmallConfig("gpt_neo"), "attention_types", AttentionTypes({}, 1'000'000'000)),
        "attention_types", "4 in all"},
       {With(SmallConfig("gpt_neo"), "attention_types", AttentionTypes({"near"}, 4)),
        "attention_types", "must name global and local layers"},
       {With(SmallConfig("llama4_text"), "no_rope_layers", NumberArray({1, 0})), "no_rope_layers",
        "is shorter than the model"},
       {With(SmallConfig("smollm3"), "no_rope_layers", NumberArray({1, 0})), "no_rope_layers",
        "is shorter than the model"},
       {With(SmallConfig("llama4_text"), "moe_layers", NumberArray({1, 4})), "moe_layers",
        "numbers layers from 0 to 3, not 4"},
       {With(SmallConfig("llama4_text"), "moe_layers", NumberArray({1, 3, 1})), "moe_layers",
        "numbers layer 1 twice: write it once"},
       {With(SmallConfig("qwen3_moe"), "mlp_only_layers", NumberArray({-1})), "mlp_only_layers",
        "not -1"},
       {With(SmallConfig("qwen3_moe"), "mlp_only_layers", TextArray({"1"})), "mlp_only_layers",
        "must be an array of whole numbers"}});
}

TEST(ConfigRefusals, OfMixturesNameTheFieldAndTheRemedy) {
  ExpectRefused(
      {{Without(SmallConfig("mixtral"), "num_local_experts"), "num_local_experts",
        "is required: write 1 to 1000000"},
       {Without(SmallConfig("olmoe"), "num_experts_per_tok"), "num_experts_per_tok", "is required"},
       {SmallConfig("mixtral", {{"num_experts_per_tok", 5}}), "num_experts_per_tok",
        "must be at most num_local_experts (4), not 5"},
       {With(SmallConfig("mixtral"), "num_local_experts", Number("4.0")), "num_local_experts",
        "not 4.0"},
       {Without(SmallConfig("qwen2_moe"), "shared_expert_intermediate_size"),
        "shared_expert_intermediate_size", "is required"},
       {SmallConfig("qwen2_moe", {{"shared_expert_intermediate_size", 0}}),
        "shared_expert_intermediate_size", "at 0 this family's code still holds"},
       {SmallConfig("gpt_oss", {{"experts_per_token", 3}}), "experts_per_token",
        "is not num_experts_per_tok"},
       {Without(SmallConfig("dbrx"), "attn_config"), "attn_config.kv_n_heads", "is required"},
       {SmallConfig("dbrx", {{"attn_config.kv_n_heads", "2"}}), "attn_config.kv_n_heads",
        "write 2 without quotes"},
       {SmallConfig("dbrx", {{"tie_word_embeddings", true}}), "tie_word_embeddings",
        "must be false"},
       {[] {
          ConfigFields fields = SmallConfig("dbrx");
          ConfigValue& object = fields["attn_config"];
          object.elements.push_back(object.elements.front());
          return fields;
        }(),
        "attn_config.kv_n_heads", "is given twice"},
       {SmallConfig("dbrx", {{"attn_config.lora_rank", 4}}), "attn_config.lora_rank",
        "4 speaks of low-rank matrices"},
       {SmallConfig("llama", {{"made_up", 1}}), "made_up", "is not known here"},
       {With(SmallConfig("mpt"), "attn_config", NumberArray({1})), "attn_config",
        "must be an object, not an array"},
       {SmallConfig("mixtral", {{"n_shared_experts", 2}}), "n_shared_experts",
        "2 speaks of experts"},
       // One is not none: it adds to the others.
       {SmallConfig("qwen3_moe", {{"n_shared_experts", 1}}), "n_shared_experts",
        "1 speaks of experts"},
       {SmallConfig("llama", {{"num_shared_expert", 1}}), "num_shared_expert",
        "1 speaks of experts"}});
}

// transformers takes one model's number for each.
TEST(ConfigRefusals, OfFieldsThatOneModelsNumberStandsForNameThem) {
  for (const auto& [family, field] :
       std::vector<std::pair<const char*, const char*>>{{"glm", "head_dim"},
                                                        {"glm4", "head_dim"},
                                                        {"minimax_m2", "head_dim"},
                                                        {"afmoe", "head_dim"},
                                                        {"afmoe", "num_dense_layers"},
                                                        {"afmoe", "num_shared_experts"},
                                                        {"glm4_moe", "first_k_dense_replace"},
                                                        {"glm4_moe", "n_shared_experts"},
                                                        {"bailing_moe", "first_k_dense_replace"},
                                                        {"hunyuan_v1_moe", "num_shared_expert"},
                                                        {"ernie4_5_moe", "moe_num_shared_experts"},
                                                        {"step3p5", "moe_layers_enum"}}) {
    ExpectRefused({{Without(SmallConfig(family), field), field, "is required"}});
  }
}

TEST(ConfigRefusals, OfOthersNameTheFieldAndTheRemedy) {
  ExpectRefused(
      {{Without(SmallConfig("deepseek_v3"), "q_lora_rank"), "q_lora_rank",
        "write a size, or null for none"},
       // Null is none; 0 would leave no queries.
       {SmallConfig("deepseek_v2", {{"q_lora_rank", 0}}), "q_lora_rank", "from 1 to 1000000000"},
       {Without(SmallConfig("deepseek_v2"), "n_shared_experts"), "n_shared_experts",
        "write a size, or null for none"},
       {SmallConfig("deepseek_v2", {{"n_shared_experts", 1'000'001}}), "n_shared_experts",
        "must be at most 1000000"},
       {SmallConfig("deepseek_v2", {{"num_key_value_heads", 1}}), "num_key_value_heads",
        "must be num_attention_heads (2)"},
       {SmallConfig("deepseek_v2", {{"head_dim", 5}}), "head_dim", "is not qk_rope_head_dim"},
       {SmallConfig("deepseek_v2", {{"first_k_dense_replace", 5}}), "first_k_dense_replace",
        "must be 0 to 4, not 5"},
       {Without(SmallConfig("deepseek_v2"), "first_k_dense_replace"), "first_k_dense_replace",
        "is required"},
       {SmallConfig("deepseek_v3", {{"topk_method", "greedy"}}), "topk_method", "must be noaux_tc"},
       {Without(SmallConfig("mpt"), "no_bias"), "no_bias",
        "llm-foundry's code and transformers' differ"},
       {SmallConfig("mpt", {{"attn_config.alibi", false}}), "max_seq_len", "is required"},
       {SmallConfig("mpt", {{"ffn_config.ffn_type", "mptglu"}}), "ffn_config.ffn_type",
        "must be mptmlp"},
       {SmallConfig("mpt", {{"norm_type", "rmsnorm"}}), "norm_type",
        "must be low_precision_layernorm"},
       {SmallConfig("mpt", {{"expansion_ratio", 1'000'000'000}}), "expansion_ratio",
        "must be at most 100000000"},
       // Two rows more than it says.
       {SmallConfig("opt", {{"max_position_embeddings", 1'000'000'000}}), "max_position_embeddings",
        "must be at most 999999998"},
       {SmallConfig("bloom", {{"n_embed", 16}}), "n_embed", "is not hidden_size"},
       {SmallConfig("bloom", {{"n_inner", 16}}), "n_inner", "takes 4 times the width"},
       {SmallConfig("bert", {{"num_attention_heads", 3}}), "num_attention_heads",
        "must divide hidden_size (8), which 3 does not"},
       {SmallConfig("llama", {{"hidden_size", 10'000'000}}), "num_attention_heads",
        "makes heads of more than 1000000"},
       {SmallConfig("bert", {{"hidden_size", 10'000'000}}), "num_attention_heads",
        "makes heads of more than 1000000"},
       {With(SmallConfig("dbrx"), "ffn_config", Number("1.5")), "ffn_config",
        "must be an object, not 1.5"},
       {SmallConfig("bert", {{"is_decoder", true}}), "is_decoder", "must be false"},
       {SmallConfig("bert", {{"position_embedding_type", "relative_key"}}),
        "position_embedding_type", "must be absolute"},
       {SmallConfig("bert", {{"architectures", OneName{"BertForSequenceClassification"}}}),
        "architectures", "write BertForPreTraining if"},
       {SmallConfig("t5", {{"is_encoder_decoder", false}}), "is_encoder_decoder", "must be true"},
       {SmallConfig("t5", {{"feed_forward_proj", "silu-gelu"}}), "feed_forward_proj",
        "relu, or gated-gelu"},
       {SmallConfig("t5", {{"feed_forward_proj", "gated-gelu-new"}}), "feed_forward_proj",
        "relu, or gated-gelu"},
       {SmallConfig("t5", {{"feed_forward_proj", "gated"}}), "feed_forward_proj",
        "relu, or gated-gelu"},
       {SmallConfig("t5", {{"feed_forward_proj", "gated-"}}), "feed_forward_proj",
        "relu, or gated-gelu"},
       {SmallConfig("t5", {{"feed_forward_proj", ""}}), "feed_forward_proj", "relu, or gated-gelu"},
       {SmallConfig("t5", {{"is_gated_act", true}}), "is_gated_act",
        "something else than feed_forward_proj"},
       {SmallConfig("t5", {{"hidden_size", 9}}), "hidden_size", "is not d_model"},
       {SmallConfig("mixtral", {{"num_hidden_layers", 1'000'000},
                                {"intermediate_size", 100'000'000},
                                {"num_local_experts", 1'000'000}}),
        "", "more than 1000000000000000 parameters"},
       {SmallConfig("deepseek_v3", {{"num_nextn_predict_layers", 1'000'000'000}}),
        "num_nextn_predict_layers", "must be at most 1000000"},
       {SmallConfig("gemma2", {{"num_hidden_layers", 4097}}), "num_hidden_layers",
        "take turns more than 4096 times"},
       {With(SmallConfig("deepseek_v32"), "indexer_types",
             TextArray({"full", "shared", "full", "shared"})),
        "indexer_types", "must be full for each of 4 layers"},
       {SmallConfig("deepseek_v32", {{"index_topk_freq", 4}}), "index_topk_freq", "must be 1"},
       {With(SmallConfig("glm_moe_dsa"), "indexer_types", TextArray({"full"})), "indexer_types",
        "must say of 4 layers"},
       {With(SmallConfig("glm_moe_dsa"), "indexer_types",
             TextArray({"full", "shared", "full", "half"})),
        "indexer_types", "which are full and which shared"},
       {With(SmallConfig("glm_moe_dsa"), "indexer_types",
             TextArray({"shared", "full", "full", "full"})),
        "indexer_types", "the first being full"},
       {SmallConfig("glm_moe_dsa", {{"index_topk_pattern", "FFS"}}), "index_topk_pattern",
        "must say of 4 layers"},
       {SmallConfig("glm_moe_dsa", {{"index_topk_freq", 2}, {"index_skip_topk_offset", 0}}),
        "index_skip_topk_offset", "the first being full"},
       {With(SmallConfig("glm_moe_dsa"), "layer_types", TextArray({"full_attention"})),
        "layer_types", "must be deepseek_sparse_attention"},
       {SmallConfig("glm_moe_dsa", {{"q_lora_rank", nullptr}}), "q_lora_rank", "must be a size"},
       {SmallConfig("glm_moe_dsa", {{"qk_head_dim", 4}}), "qk_head_dim", "is not qk_nope"},
       {With(SmallConfig("granitemoehybrid"), "layer_types",
             TextArray({"attention", "lightning", "attention", "mamba"})),
        "layer_types", "others are not supported yet"},
       {With(SmallConfig("granitemoehybrid"), "layer_types", TextArray({"attention"})),
        "layer_types", "must name 4 layers, mamba or attention"},
       {With(SmallConfig("hunyuan_v1_moe"), "moe_topk", NumberArray({2, 2})), "moe_topk",
        "has 2 numbers, not 4"},
       {With(SmallConfig("hunyuan_v1_moe"), "num_experts", NumberArray({})), "num_experts",
        "has 0 numbers, not 4"},
       {With(SmallConfig("glm4_moe"), "mlp_layer_types", TextArray({"dense", "sparse"})),
        "mlp_layer_types", "must name 4 layers, dense or sparse"},
       {With(SmallConfig("laguna"), "mlp_layer_types",
             TextArray({"dense", "sparse", "sparse", "moe"})),
        "mlp_layer_types", "dense or sparse"},
       {With(SmallConfig("laguna"), "gating_types",
             TextArray({"per_head", "per_element", "per_head", "per_head"})),
        "gating_types", "must be per_head for each of 4 layers"},
       {SmallConfig("laguna", {{"decoder_sparse_step", 2}}), "decoder_sparse_step", "must be 1"},
       {SmallConfig("laguna", {{"gating", "per-layer"}}), "gating", "per-head or per-element"},
       {SmallConfig("glm4_moe", {{"first_k_dense_replace", 5}}), "first_k_dense_replace",
        "must be 0 to 4, not 5"},
       {With(SmallConfig("hunyuan_v1_moe"), "moe_topk", NumberArray({2, 2, 1, 2})), "moe_topk",
        "must be one number"},
       {SmallConfig("hunyuan_v1_moe", {{"use_cla", true}}), "use_cla", "must be false"},
       {SmallConfig("hunyuan_v1_moe", {{"moe_intermediate_size", 6}}), "moe_intermediate_size",
        "must be intermediate_size (16)"},
       {SmallConfig("glm4_moe", {{"moe_layer_freq", 2}}), "moe_layer_freq", "must be 1"},
       {SmallConfig("bailing_moe", {{"use_bias", true}}), "use_bias", "must be false"},
       {With(SmallConfig("minimax_m2"), "attn_type_list", NumberArray({1, 0, 1, 1})),
        "attn_type_list", "linear attention"},
       {SmallConfig("minimax_m2", {{"qk_norm_type", "per_head"}}), "qk_norm_type", "per_layer"},
       {SmallConfig("hunyuan_v1_moe", {{"use_mixed_mlp_moe", false}}), "use_mixed_mlp_moe",
        "must be true"},
       {SmallConfig("step3p5", {{"use_head_wise_attn_gate", nullptr}}), "use_head_wise_attn_gate",
        "true or false"},
       {SmallConfig("step3p5", {{"moe_layers_enum", "1,4"}}), "moe_layers_enum", "from 0 to 3"},
       {SmallConfig("step3p5", {{"attention_other_setting.num_attention_heads", 3}}),
        "num_attention_heads", "is 3 in layers with a window"},
       {With(SmallConfig("laguna"), "num_attention_heads_per_layer", NumberArray({2, 2, 4, 2})),
        "num_attention_heads_per_layer", "one number for all layers of a type"},
       {With(SmallConfig("mimo_v2_flash"), "moe_layer_freq", NumberArray({0, 1})), "moe_layer_freq",
        "0 or 1 for each layer"},
       {With(SmallConfig("mimo_v2_flash"), "moe_layer_freq", NumberArray({0, 1, 2, 1})),
        "moe_layer_freq", "0 or 1 for each layer"},
       {SmallConfig("exaone4", {{"sliding_window_pattern", ""}}), "sliding_window_pattern",
        "letters L with a last one G"},
       {SmallConfig("exaone4", {{"sliding_window_pattern", "LGLG"}}), "sliding_window_pattern",
        "letters L with a last one G"},
       {With(SmallConfig("nemotron-nas"), "block_configs", NumberArray({1, 1})), "block_configs",
        "an object for each of num_hidden_layers"},
       {With(SmallConfig("nemotron-nas"), "block_configs", NumberArray({1, 1, 1, 1})),
        "block_configs", "must say attention and ffn"},
       {WithBlockMember("moe", {.kind = Kind::kObject, .element_count = 1}), "block_configs",
        "name moe, which is not supported"},
       {WithBlockMember("no_op", {.kind = Kind::kText, .text = "true"}), "block_configs",
        "must have true or false for no_op"},
       {SmallConfig("mamba"), "model_type", "state-space"},
       {SmallConfig("vit"), "model_type", "a vision model"},
       {SmallConfig("llama4"), "model_type", "multimodal"}});
}

TEST(ConfigRefusals, OfMixersNameTheFieldAndTheRemedy) {
  ExpectRefused({
      {Without(SmallConfig("qwen3_5_text"), "intermediate_size"), "intermediate_size",
       "layers have a feed-forward without experts"},
      {SmallConfig("qwen3_5_text", {{"linear_num_key_heads", 4}}), "linear_num_key_heads",
       "must divide"},
      {SmallConfig("qwen3_5_text", {{"mtp_use_dedicated_embeddings", true}}),
       "mtp_use_dedicated_embeddings", "must be false"},
      {SmallConfig("kimi_linear", {{"attn_res_block_size", 12}}), "attn_res_block_size", "Kimi K3"},
      {With(SmallConfig("kimi_linear"), "num_expert_group", Number("2.5")), "num_expert_group",
       "must be a whole number"},
      {Without(SmallConfig("bailing_hybrid"), "no_kda_lora"), "no_kda_lora", "lightning attention"},
      {Without(SmallConfig("lfm2"), "layer_types"), "layer_types",
       "write conv or full_attention a layer"},
      {SmallConfig("longcat_flash", {{"moe_topk", 2}}), "moe_topk", "2 x 4 / 6"},
      {SmallConfig("longcat_flash", {{"zero_expert_type", "constant"}}), "zero_expert_type",
       "must be identity"},
      {SmallConfig("gemma4_text", {{"num_kv_shared_layers", 2}}), "num_kv_shared_layers",
       "must be 0"},
      {SmallConfig("gemma4_text", {{"hidden_size_per_layer_input", 4}}),
       "hidden_size_per_layer_input", "must be 0"},
      {SmallConfig("nemotron_h", {{"hybrid_override_pattern", "M*EX"}}), "hybrid_override_pattern",
       "must be of M, *, - and E"},
      {SmallConfig("nemotron_h", {{"num_hidden_layers", 5}}), "num_hidden_layers",
       "must be the number of layers that the pattern names, 4"},
      {SmallConfig("nemotron_h",
                   {{"num_nextn_predict_layers", 1}, {"mtp_hybrid_override_pattern", "M"}}),
       "mtp_hybrid_override_pattern", "must be *E"},
      {SmallConfig("nemotron_h", {{"n_groups", 3}}), "n_groups", "must divide mamba_num_heads"},
      {Without(SmallConfig("falcon_h1"), "mamba_rms_norm"), "mamba_rms_norm", "is required"},
      {SmallConfig("falcon_h1", {{"mamba_d_ssm", 16}}), "mamba_n_heads", "other fields say 16"},
      {SmallConfig("falcon_h1", {{"projectors_bias", true}}), "projectors_bias",
       "must be mamba_proj_bias"},
      {SmallConfig("mamba2", {{"rms_norm", false}}), "rms_norm", "must be true"},
      {SmallConfig("jamba", {{"attn_layer_offset", 4}}), "attn_layer_offset",
       "must be below attn_layer_period (4)"},
  });
}

// Fields that transformers writes without needing them.
TEST(ConfigIgnored, AreTheFieldsThatNoCountDependsOn) {
  const auto model = ReadConfig(SmallConfig("dbrx", {{"attn_config.clip_qkv", 8},
                                                     {"ffn_config.moe_normalize_expert_weights", 1},
                                                     {"resid_pdrop", 0},
                                                     {"emb_pdrop", nullptr}}),
                                "config");
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->ignored_fields,
              ElementsAre("attn_config.clip_qkv", "ffn_config.moe_normalize_expert_weights",
                          "resid_pdrop"));
}

TEST(ConfigIgnored, AreNotThoseThatSayTheSameTwice) {
  EXPECT_THAT(ReadConfig(SmallConfig("gpt_oss", {{"experts_per_token", 2}}), "config"), IsOk());
  EXPECT_THAT(ReadConfig(SmallConfig("deepseek_v3", {{"head_dim", 2}}), "config"), IsOk());
  EXPECT_THAT(ReadConfig(SmallConfig("deepseek_v3", {{"head_dim", 3}}), "config"), IsOk());
  EXPECT_THAT(ReadConfig(With(SmallConfig("laguna"), "gating_types",
                              TextArray(std::vector<std::string>(4, "per_head"))),
                         "config"),
              IsOk());
  EXPECT_THAT(
      ReadConfig(SmallConfig("t5", {{"is_gated_act", false}, {"hidden_size", 8}}), "config"),
      IsOk());
}

}  // namespace
}  // namespace sextant
