#include "tests/engine/model/config/small_configs.h"

#include <map>
#include <utility>

#include "tests/engine/model/config/small_mixer_configs.h"

namespace sextant {
namespace {

using Fields = std::vector<ConfigField>;
using Kind = ConfigValue::Kind;

const Fields& Llama() {
  static const Fields fields = {{"num_hidden_layers", 4},   {"hidden_size", 8},
                                {"intermediate_size", 16},  {"num_attention_heads", 2},
                                {"num_key_value_heads", 2}, {"vocab_size", 10}};
  return fields;
}

}  // namespace

Fields LlamaWith(const Fields& more) {
  Fields out = Llama();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

namespace {

Fields Latent() {
  return LlamaWith({{"q_lora_rank", 6},
                    {"kv_lora_rank", 5},
                    {"qk_nope_head_dim", 3},
                    {"qk_rope_head_dim", 2},
                    {"v_head_dim", 4},
                    {"n_routed_experts", 4},
                    {"n_shared_experts", 1},
                    {"num_experts_per_tok", 2},
                    {"moe_intermediate_size", 6},
                    {"first_k_dense_replace", 1}});
}

Fields Indexed() {
  Fields out = Latent();
  out.insert(out.end(), {{"index_n_heads", 2}, {"index_head_dim", 4}, {"index_topk", 3}});
  return out;
}

// Experts of 6, one shared, from the second layer on.
Fields Grouped(const char* count, const char* shared) {
  return LlamaWith({{count, 4},
                    {shared, 1},
                    {"num_experts_per_tok", 2},
                    {"moe_intermediate_size", 6},
                    {"first_k_dense_replace", 1}});
}

Fields StepFields() {
  return {{"num_hidden_layers", 4},
          {"hidden_size", 8},
          {"intermediate_size", 16},
          {"num_attention_heads", 2},
          {"num_attention_groups", 2},
          {"head_dim", 4},
          {"vocab_size", 10},
          {"moe_num_experts", 4},
          {"moe_top_k", 2},
          {"moe_intermediate_size", 6},
          {"share_expert_dim", 10},
          {"use_head_wise_attn_gate", false},
          {"moe_layers_enum", "1,2,3"},
          {"attention_other_setting.attention_type", "sliding_attention"},
          {"attention_other_setting.num_attention_heads", 4},
          {"attention_other_setting.num_attention_groups", 2},
          {"attention_other_setting.head_dim", 4}};
}

// Those whose fields are not Llama's.
const std::map<absl::string_view, Fields>& OwnFields() {
  static const Fields gpt2 = {
      {"n_layer", 4}, {"n_embd", 8}, {"n_head", 2}, {"n_positions", 6}, {"vocab_size", 10}};
  static const Fields gptj = {{"n_layer", 4}, {"n_embd", 8}, {"n_head", 2}, {"vocab_size", 10}};
  static const Fields mixture = LlamaWith({{"num_local_experts", 4}, {"num_experts_per_tok", 2}});
  static const Fields youtu = LlamaWith({{"q_lora_rank", 6},
                                         {"kv_lora_rank", 5},
                                         {"qk_nope_head_dim", 3},
                                         {"qk_rope_head_dim", 2},
                                         {"v_head_dim", 4}});
  static const std::map<absl::string_view, Fields> own = {
      {"gpt2", gpt2},
      {"gpt_bigcode", gpt2},
      {"gpt_neo",
       {{"num_layers", 4},
        {"hidden_size", 8},
        {"num_heads", 2},
        {"max_position_embeddings", 6},
        {"vocab_size", 10}}},
      {"gptj", gptj},
      {"codegen", gptj},
      {"gpt_neox",
       {{"num_hidden_layers", 4},
        {"hidden_size", 8},
        {"intermediate_size", 16},
        {"num_attention_heads", 2},
        {"vocab_size", 10}}},
      {"opt",
       {{"num_hidden_layers", 4},
        {"hidden_size", 8},
        {"ffn_dim", 16},
        {"num_attention_heads", 2},
        {"max_position_embeddings", 6},
        {"vocab_size", 10}}},
      {"bloom", {{"n_layer", 4}, {"hidden_size", 8}, {"n_head", 2}, {"vocab_size", 10}}},
      {"mpt",
       {{"n_layers", 4},
        {"d_model", 8},
        {"n_heads", 2},
        {"vocab_size", 10},
        {"no_bias", true},
        {"attn_config.alibi", true}}},
      {"falcon",
       {{"num_hidden_layers", 4},
        {"hidden_size", 8},
        {"num_attention_heads", 2},
        {"vocab_size", 10}}},
      {"qwen3", LlamaWith({{"head_dim", 4}})},
      {"params.json",
       {{"n_layers", 4},
        {"dim", 8},
        {"hidden_dim", 16},
        {"n_heads", 2},
        {"n_kv_heads", 2},
        {"vocab_size", 10}}},
      {"gemma", LlamaWith({{"head_dim", 4}})},
      {"gemma2", LlamaWith({{"head_dim", 4}})},
      {"gemma3_text", LlamaWith({{"head_dim", 4}})},
      {"mixtral", mixture},
      {"phimoe", mixture},
      {"gpt_oss",
       LlamaWith({{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"head_dim", 4}})},
      {"olmoe", LlamaWith({{"num_experts", 4}, {"num_experts_per_tok", 2}})},
      {"qwen2_moe", LlamaWith({{"num_experts", 4},
                               {"num_experts_per_tok", 2},
                               {"moe_intermediate_size", 6},
                               {"shared_expert_intermediate_size", 10}})},
      {"qwen3_moe",
       LlamaWith({{"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 6}})},
      {"llama4_text", LlamaWith({{"intermediate_size", 6},
                                 {"intermediate_size_mlp", 16},
                                 {"num_local_experts", 4},
                                 {"num_experts_per_tok", 2},
                                 {"head_dim", 4}})},
      {"dbrx",
       {{"n_layers", 4},
        {"d_model", 8},
        {"n_heads", 2},
        {"vocab_size", 10},
        {"attn_config.kv_n_heads", 2},
        {"ffn_config.ffn_hidden_size", 16},
        {"ffn_config.moe_num_experts", 4},
        {"ffn_config.moe_top_k", 2}}},
      {"deepseek_v2", Latent()},
      {"deepseek_v3", Latent()},
      {"kimi_k2", Latent()},
      {"glm4_moe_lite", Latent()},
      {"deepseek_v32", Indexed()},
      {"glm_moe_dsa", Indexed()},
      {"youtu_llm", youtu},
      {"youtu", youtu},
      {"glm", LlamaWith({{"head_dim", 4}})},
      {"glm4", LlamaWith({{"head_dim", 4}})},
      {"ernie4_5", LlamaWith({{"head_dim", 4}})},
      {"seed_oss", LlamaWith({{"head_dim", 4}})},
      {"ministral3", LlamaWith({{"head_dim", 4}})},
      {"qwen3_vl_text", LlamaWith({{"head_dim", 4}})},
      {"qwen3_vl_moe_text",
       LlamaWith({{"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 6}})},
      {"granitemoe", mixture},
      {"granitemoehybrid", LlamaWith({{"shared_intermediate_size", 16}, {"num_local_experts", 0}})},
      {"minimax_m2",
       LlamaWith({{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"head_dim", 4}})},
      {"glm4_moe", Grouped("n_routed_experts", "n_shared_experts")},
      {"bailing_moe", Grouped("num_experts", "num_shared_experts")},
      {"bailing_moe_v2", Grouped("num_experts", "num_shared_experts")},
      {"dots1", Grouped("n_routed_experts", "n_shared_experts")},
      {"hunyuan_v1_moe", LlamaWith({{"num_experts", 4},
                                    {"moe_topk", 2},
                                    {"moe_intermediate_size", 16},
                                    {"num_shared_expert", 1}})},
      {"ernie4_5_moe", LlamaWith({{"moe_num_experts", 4},
                                  {"moe_k", 2},
                                  {"moe_intermediate_size", 6},
                                  {"moe_num_shared_experts", 1}})},
      {"afmoe", LlamaWith({{"head_dim", 4},
                           {"num_dense_layers", 0},
                           {"num_experts", 4},
                           {"num_experts_per_tok", 2},
                           {"moe_intermediate_size", 6},
                           {"num_shared_experts", 1}})},
      {"step3p5", StepFields()},
      {"laguna", LlamaWith({{"head_dim", 4},
                            {"num_experts", 4},
                            {"num_experts_per_tok", 2},
                            {"moe_intermediate_size", 6},
                            {"shared_expert_intermediate_size", 10}})},
      {"mimo_v2_flash", LlamaWith({{"head_dim", 4},
                                   {"v_head_dim", 4},
                                   {"n_routed_experts", 4},
                                   {"num_experts_per_tok", 2},
                                   {"moe_intermediate_size", 6},
                                   {"swa_num_key_value_heads", 1},
                                   {"add_swa_attention_sink_bias", true},
                                   {"sliding_window", 3}})},
      {"bert",
       {{"num_hidden_layers", 4},
        {"hidden_size", 8},
        {"intermediate_size", 16},
        {"num_attention_heads", 2},
        {"max_position_embeddings", 6},
        {"vocab_size", 10}}},
      {"t5",
       {{"num_layers", 4},
        {"d_model", 8},
        {"d_kv", 4},
        {"d_ff", 16},
        {"num_heads", 2},
        {"vocab_size", 10}}},
  };
  return own;
}

// A layer for each pair: heads in a group, and ffn_mult; 0 leaves a part out.
ConfigValue Blocks(const std::vector<std::pair<int64_t, int64_t>>& layers) {
  const auto part = [](const char* name, const char* size, int64_t value) {
    const ConfigValue none = {.kind = Kind::kBoolean, .name = "no_op", .boolean = value == 0};
    const ConfigValue number = {.kind = Kind::kInteger, .name = size, .integer = value};
    return ConfigValue{
        .kind = Kind::kObject, .name = name, .element_count = 2, .elements = {none, number}};
  };
  ConfigValue out = {.kind = Kind::kArray, .element_count = layers.size()};
  for (const auto& [heads, factor] : layers) {
    out.elements.push_back({.kind = Kind::kObject,
                            .element_count = 2,
                            .elements = {part("attention", "n_heads_in_group", heads),
                                         part("ffn", "ffn_mult", factor)}});
  }
  return out;
}

}  // namespace

ConfigFields SmallConfig(absl::string_view model_type, const std::vector<ConfigField>& more) {
  const auto own = OwnFields().find(model_type);
  const auto mixer = MixerFields().find(model_type);
  ConfigFields out;
  for (const ConfigField& field : mixer != MixerFields().end() ? mixer->second
                                  : own == OwnFields().end()   ? Llama()
                                                               : own->second) {
    SetField(field, out);
  }
  out["model_type"] = {.kind = Kind::kText, .text = std::string(model_type)};
  if (model_type == "nemotron-nas") {
    out["num_key_value_heads"] = out["intermediate_size"] = {};
    out["block_configs"] = Blocks({{2, 96}, {0, 100}, {1, 0}, {0, 0}});
  }
  if (model_type == "gpt_neo") out["attention_types"] = AttentionTypes({"global", "local"}, 2);
  if (model_type == "granitemoehybrid")
    out["layer_types"] = TextArray(std::vector<std::string>(4, "attention"));
  if (model_type == "step3p5") {
    out["layer_types"] =
        TextArray({"full_attention", "sliding_attention", "full_attention", "sliding_attention"});
  }
  if (model_type == "mimo_v2_flash") {
    out["hybrid_layer_pattern"] = out["moe_layer_freq"] = NumberArray({0, 1, 1, 1});
  }
  AddMixerArrays(model_type, out);
  for (const ConfigField& field : more) SetField(field, out);
  return out;
}

ConfigValue TextArray(const std::vector<std::string>& texts) {
  ConfigValue out = {.kind = Kind::kArray, .element_count = texts.size()};
  for (const std::string& text : texts) out.elements.push_back({.kind = Kind::kText, .text = text});
  return out;
}

ConfigValue NumberArray(const std::vector<int64_t>& numbers) {
  ConfigValue out = {.kind = Kind::kArray, .element_count = numbers.size()};
  for (const int64_t number : numbers) {
    out.elements.push_back({.kind = Kind::kInteger, .integer = number});
  }
  return out;
}

ConfigValue AttentionTypes(const std::vector<std::string>& types, int64_t times) {
  ConfigValue group = {.kind = Kind::kArray, .element_count = 2};
  group.elements = {TextArray(types), {.kind = Kind::kInteger, .integer = times}};
  return {.kind = Kind::kArray, .element_count = 1, .elements = {group}};
}

}  // namespace sextant
