// Configs that contradict themselves, or leave out what no family can do without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/model/config/read_config.h"
#include "tests/engine/model/config/small_configs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Kind = ConfigValue::Kind;

ConfigFields With(ConfigFields fields, const std::string& name, const ConfigValue& value) {
  fields[name] = value;
  return fields;
}

ConfigFields Without(ConfigFields fields, const std::string& name) {
  fields.erase(name);
  return fields;
}

ConfigValue Number(const char* digits) { return {.kind = Kind::kOtherNumber, .text = digits}; }

// The one violation stands at "config.<field>" and says `words`.
struct RefusedCase {
  const char* name;
  ConfigFields fields;
  const char* field;
  const char* words;
};

class ConfigRefusals : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(ConfigRefusals, NameTheFieldAndTheRemedy) {
  const RefusedCase& c = GetParam();
  const absl::Status status = ReadConfig(c.fields, "config").status();
  EXPECT_THAT(status, NamesFields(ElementsAre(FieldPath("config", c.field))));
  EXPECT_THAT(std::string(status.message()), HasSubstr(c.words));
}

const auto kName = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Layers, ConfigRefusals,
    ::testing::Values(
        RefusedCase{"TypesTooFew",
                    With(SmallConfig("gemma2"), "layer_types",
                         TextArray({"full_attention", "sliding_attention"})),
                    "layer_types", "names 2 layers, not 4: write one a layer"},
        RefusedCase{"TypesUnknown",
                    With(SmallConfig("gemma2"), "layer_types",
                         TextArray({"full_attention", "linear_attention", "full_attention",
                                    "full_attention"})),
                    "layer_types", "others hold other parameters"},
        RefusedCase{"TypesText", SmallConfig("gemma2", {{"layer_types", "full_attention"}}),
                    "layer_types", "must be an array of names, not \"full_attention\""},
        RefusedCase{"TypesNumbers",
                    With(SmallConfig("gemma2"), "layer_types", NumberArray({1, 1, 1, 1})),
                    "layer_types", "must be an array of names, not of others"},
        RefusedCase{"TypesWithoutWindow",
                    With(SmallConfig("qwen2"), "layer_types",
                         TextArray({"full_attention", "full_attention", "full_attention",
                                    "sliding_attention"})),
                    "sliding_window", "is required: layer_types names sliding_attention"},
        RefusedCase{"TypesWithoutChunk",
                    With(SmallConfig("gemma2"), "layer_types",
                         TextArray({"full_attention", "full_attention", "full_attention",
                                    "chunked_attention"})),
                    "layer_types", "no chunk is known"},
        RefusedCase{"PatternZero", SmallConfig("gemma3_text", {{"sliding_window_pattern", 0}}),
                    "sliding_window_pattern", "from 1 to 1000000000"},
        RefusedCase{"WindowZero", SmallConfig("mistral", {{"sliding_window", 0}}), "sliding_window",
                    "from 1 to 1000000000"},
        RefusedCase{"WindowText", SmallConfig("mistral", {{"sliding_window", "4096"}}),
                    "sliding_window", "write 4096 without quotes"},
        RefusedCase{"WindowHuge",
                    SmallConfig("mistral", {{"sliding_window", int64_t{2'000'000'000}}}),
                    "sliding_window", "not 2000000000"},
        RefusedCase{"BothWays", SmallConfig("gemma3_text", {{"use_bidirectional_attention", true}}),
                    "use_bidirectional_attention", "attend to later ones"},
        RefusedCase{"NoAttentionTypes", Without(SmallConfig("gpt_neo"), "attention_types"),
                    "attention_types", "transformers takes 24 layers"},
        RefusedCase{"TooManyAttentionTypes",
                    With(SmallConfig("gpt_neo"), "attention_types",
                         AttentionTypes({"global", "local"}, 1'000'000'000)),
                    "attention_types", "4 in all"},
        RefusedCase{
            "NoCycle",
            With(SmallConfig("gpt_neo"), "attention_types", AttentionTypes({}, 1'000'000'000)),
            "attention_types", "4 in all"},
        RefusedCase{"OddAttentionTypes",
                    With(SmallConfig("gpt_neo"), "attention_types", AttentionTypes({"near"}, 4)),
                    "attention_types", "must name global and local layers"},
        RefusedCase{"ShortRotaryLayers",
                    With(SmallConfig("llama4_text"), "no_rope_layers", NumberArray({1, 0})),
                    "no_rope_layers", "is shorter than the model"},
        RefusedCase{"ShortSmolLayers",
                    With(SmallConfig("smollm3"), "no_rope_layers", NumberArray({1, 0})),
                    "no_rope_layers", "is shorter than the model"},
        RefusedCase{"MoeLayerBeyond",
                    With(SmallConfig("llama4_text"), "moe_layers", NumberArray({1, 4})),
                    "moe_layers", "numbers layers from 0 to 3, not 4"},
        RefusedCase{"MoeLayerTwice",
                    With(SmallConfig("llama4_text"), "moe_layers", NumberArray({1, 3, 1})),
                    "moe_layers", "numbers layer 1 twice: write it once"},
        RefusedCase{"DenseLayerNegative",
                    With(SmallConfig("qwen3_moe"), "mlp_only_layers", NumberArray({-1})),
                    "mlp_only_layers", "not -1"},
        RefusedCase{"DenseLayersText",
                    With(SmallConfig("qwen3_moe"), "mlp_only_layers", TextArray({"1"})),
                    "mlp_only_layers", "must be an array of whole numbers"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Mixtures, ConfigRefusals,
    ::testing::Values(
        RefusedCase{"NoExperts", Without(SmallConfig("mixtral"), "num_local_experts"),
                    "num_local_experts", "is required: write 1 to 1000000"},
        RefusedCase{"NoExpertsPerToken", Without(SmallConfig("olmoe"), "num_experts_per_tok"),
                    "num_experts_per_tok", "is required"},
        RefusedCase{"TooManyPerToken", SmallConfig("mixtral", {{"num_experts_per_tok", 5}}),
                    "num_experts_per_tok", "must be at most num_local_experts (4), not 5"},
        RefusedCase{"FractionOfExperts",
                    With(SmallConfig("mixtral"), "num_local_experts", Number("4.0")),
                    "num_local_experts", "not 4.0"},
        RefusedCase{"NoSharedSize",
                    Without(SmallConfig("qwen2_moe"), "shared_expert_intermediate_size"),
                    "shared_expert_intermediate_size", "is required"},
        RefusedCase{"GateOfNoSharedExpert",
                    SmallConfig("qwen2_moe", {{"shared_expert_intermediate_size", 0}}),
                    "shared_expert_intermediate_size", "at 0 this family's code still holds"},
        RefusedCase{"TwicePerToken", SmallConfig("gpt_oss", {{"experts_per_token", 3}}),
                    "experts_per_token", "is not num_experts_per_tok"},
        RefusedCase{"DbrxNoHeads",
                    [] {
                      ConfigFields fields = SmallConfig("dbrx");
                      fields.erase("attn_config");
                      return fields;
                    }(),
                    "attn_config.kv_n_heads", "is required"},
        RefusedCase{"DbrxNumber", SmallConfig("dbrx", {{"attn_config.kv_n_heads", "2"}}),
                    "attn_config.kv_n_heads", "write 2 without quotes"},
        RefusedCase{"DbrxTied", SmallConfig("dbrx", {{"tie_word_embeddings", true}}),
                    "tie_word_embeddings", "must be false"},
        RefusedCase{"DbrxTwice",
                    [] {
                      ConfigFields fields = SmallConfig("dbrx");
                      ConfigValue& object = fields["attn_config"];
                      object.elements.push_back(object.elements.front());
                      return fields;
                    }(),
                    "attn_config.kv_n_heads", "is given twice"},
        RefusedCase{"DbrxLora", SmallConfig("dbrx", {{"attn_config.lora_rank", 4}}),
                    "attn_config.lora_rank", "4 speaks of parameters"},
        RefusedCase{"MptArray", With(SmallConfig("mpt"), "attn_config", NumberArray({1})),
                    "attn_config", "must be an object, not an array"},
        RefusedCase{"MixtralShared", SmallConfig("mixtral", {{"n_shared_experts", 2}}),
                    "n_shared_experts", "2 speaks of parameters"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Others, ConfigRefusals,
    ::testing::Values(
        RefusedCase{"LatentRankAbsent", Without(SmallConfig("deepseek_v3"), "q_lora_rank"),
                    "q_lora_rank", "write a size, or null for none"},
        // Null is none; 0 would leave no queries.
        RefusedCase{"LatentRankZero", SmallConfig("deepseek_v2", {{"q_lora_rank", 0}}),
                    "q_lora_rank", "from 1 to 1000000000"},
        RefusedCase{"SharedExpertsAbsent", Without(SmallConfig("deepseek_v2"), "n_shared_experts"),
                    "n_shared_experts", "write a size, or null for none"},
        RefusedCase{"SharedExpertsHuge",
                    SmallConfig("deepseek_v2", {{"n_shared_experts", 1'000'001}}),
                    "n_shared_experts", "must be at most 1000000"},
        RefusedCase{"LatentHeads", SmallConfig("deepseek_v2", {{"num_key_value_heads", 1}}),
                    "num_key_value_heads", "must be num_attention_heads (2)"},
        RefusedCase{"LatentHeadSize", SmallConfig("deepseek_v2", {{"head_dim", 5}}), "head_dim",
                    "is not qk_rope_head_dim"},
        RefusedCase{"DenseBeyond", SmallConfig("deepseek_v2", {{"first_k_dense_replace", 5}}),
                    "first_k_dense_replace", "must be 0 to 4, not 5"},
        RefusedCase{"DenseAbsent", Without(SmallConfig("deepseek_v2"), "first_k_dense_replace"),
                    "first_k_dense_replace", "is required"},
        RefusedCase{"OtherRouter", SmallConfig("deepseek_v3", {{"topk_method", "greedy"}}),
                    "topk_method", "must be noaux_tc"},
        RefusedCase{"MptBiasUnsaid", Without(SmallConfig("mpt"), "no_bias"), "no_bias",
                    "llm-foundry's code and transformers' differ"},
        RefusedCase{"MptPositionsUnsaid", SmallConfig("mpt", {{"attn_config.alibi", false}}),
                    "max_seq_len", "is required"},
        RefusedCase{"MptGated", SmallConfig("mpt", {{"ffn_config.ffn_type", "mptglu"}}),
                    "ffn_config.ffn_type", "must be mptmlp"},
        RefusedCase{"MptNorm", SmallConfig("mpt", {{"norm_type", "rmsnorm"}}), "norm_type",
                    "must be low_precision_layernorm"},
        RefusedCase{"MptHuge", SmallConfig("mpt", {{"expansion_ratio", 1'000'000'000}}),
                    "expansion_ratio", "must be at most 100000000"},
        // Two rows more than it says.
        RefusedCase{"OptPositions",
                    SmallConfig("opt", {{"max_position_embeddings", 1'000'000'000}}),
                    "max_position_embeddings", "must be at most 999999998"},
        RefusedCase{"BloomTwoWidths", SmallConfig("bloom", {{"n_embed", 16}}), "n_embed",
                    "is not hidden_size"},
        RefusedCase{"BloomInner", SmallConfig("bloom", {{"n_inner", 16}}), "n_inner",
                    "takes 4 times the width"},
        RefusedCase{"BertHeads", SmallConfig("bert", {{"num_attention_heads", 3}}),
                    "num_attention_heads", "must divide hidden_size (8), which 3 does not"},
        RefusedCase{"WideHeads", SmallConfig("llama", {{"hidden_size", 10'000'000}}),
                    "num_attention_heads", "makes heads of more than 1000000"},
        RefusedCase{"BertWideHeads", SmallConfig("bert", {{"hidden_size", 10'000'000}}),
                    "num_attention_heads", "makes heads of more than 1000000"},
        RefusedCase{"DbrxText", With(SmallConfig("dbrx"), "ffn_config", Number("1.5")),
                    "ffn_config", "must be an object, not 1.5"},
        RefusedCase{"BertDecoder", SmallConfig("bert", {{"is_decoder", true}}), "is_decoder",
                    "must be false"},
        RefusedCase{"BertPositions",
                    SmallConfig("bert", {{"position_embedding_type", "relative_key"}}),
                    "position_embedding_type", "must be absolute"},
        RefusedCase{
            "BertClassifier",
            SmallConfig("bert", {{"architectures", OneName{"BertForSequenceClassification"}}}),
            "architectures", "write BertForPreTraining if"},
        RefusedCase{"T5EncoderAlone", SmallConfig("t5", {{"is_encoder_decoder", false}}),
                    "is_encoder_decoder", "must be true"},
        RefusedCase{"T5Function", SmallConfig("t5", {{"feed_forward_proj", "silu-gelu"}}),
                    "feed_forward_proj", "relu, or gated-gelu"},
        RefusedCase{"T5TwoDashes", SmallConfig("t5", {{"feed_forward_proj", "gated-gelu-new"}}),
                    "feed_forward_proj", "relu, or gated-gelu"},
        RefusedCase{"T5GatedAlone", SmallConfig("t5", {{"feed_forward_proj", "gated"}}),
                    "feed_forward_proj", "relu, or gated-gelu"},
        RefusedCase{"T5GatedNothing", SmallConfig("t5", {{"feed_forward_proj", "gated-"}}),
                    "feed_forward_proj", "relu, or gated-gelu"},
        RefusedCase{"T5NoFunction", SmallConfig("t5", {{"feed_forward_proj", ""}}),
                    "feed_forward_proj", "relu, or gated-gelu"},
        RefusedCase{"T5Gate", SmallConfig("t5", {{"is_gated_act", true}}), "is_gated_act",
                    "something else than feed_forward_proj"},
        RefusedCase{"T5Alias", SmallConfig("t5", {{"hidden_size", 9}}), "hidden_size",
                    "is not d_model"},
        RefusedCase{"TooLargeTogether",
                    SmallConfig("mixtral", {{"num_hidden_layers", 1'000'000},
                                            {"intermediate_size", 100'000'000},
                                            {"num_local_experts", 1'000'000}}),
                    "", "more than 1000000000000000 parameters"},
        RefusedCase{"TooLargeAhead",
                    SmallConfig("deepseek_v3", {{"num_nextn_predict_layers", 1'000'000'000}}),
                    "num_nextn_predict_layers", "must be at most 1000000"},
        RefusedCase{"TooManyTurns", SmallConfig("gemma2", {{"num_hidden_layers", 4097}}),
                    "num_hidden_layers", "take turns more than 4096 times"},
        RefusedCase{"StateSpace", SmallConfig("mamba"), "model_type", "state-space"},
        RefusedCase{"Vision", SmallConfig("vit"), "model_type", "a vision model"},
        RefusedCase{"Multimodal", SmallConfig("llama4"), "model_type", "multimodal"}),
    kName);

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
  EXPECT_THAT(
      ReadConfig(SmallConfig("t5", {{"is_gated_act", false}, {"hidden_size", 8}}), "config"),
      IsOk());
}

}  // namespace
}  // namespace sextant
