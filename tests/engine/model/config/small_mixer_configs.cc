#include "tests/engine/model/config/small_mixer_configs.h"

#include <utility>

#include "tests/engine/model/config/small_configs.h"

namespace sextant {
namespace {

using Fields = std::vector<ConfigField>;

Fields And(Fields fields, const Fields& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

// Two heads of values of 3 on one of keys of 5.
Fields WithDeltaNet(const Fields& more) {
  return And(LlamaWith({{"head_dim", 4},
                        {"linear_num_value_heads", 2},
                        {"linear_value_head_dim", 3},
                        {"linear_num_key_heads", 1},
                        {"linear_key_head_dim", 5},
                        {"linear_conv_kernel_dim", 2}}),
             more);
}

// Latent attention in layers without Kimi delta attention, and experts of 6, one shared, from the
// second layer on.
Fields WithKimiDelta(const Fields& more) {
  return And(LlamaWith({{"q_lora_rank", 6},
                        {"kv_lora_rank", 5},
                        {"qk_nope_head_dim", 3},
                        {"qk_rope_head_dim", 2},
                        {"v_head_dim", 4},
                        {"num_experts", 4},
                        {"num_shared_experts", 1},
                        {"moe_intermediate_size", 6},
                        {"first_k_dense_replace", 1}}),
             more);
}

// 4 heads of 3 on 2 groups, a state of 5.
Fields WithMamba2(const Fields& more) {
  return And(LlamaWith({{"mamba_n_heads", 4},
                        {"mamba_d_head", 3},
                        {"mamba_n_groups", 2},
                        {"mamba_d_state", 5},
                        {"mamba_d_conv", 2}}),
             more);
}

// 2 published layers.
Fields LongcatFields() {
  return {{"num_layers", 2},          {"hidden_size", 8},           {"ffn_hidden_size", 16},
          {"num_attention_heads", 2}, {"vocab_size", 10},           {"q_lora_rank", 6},
          {"kv_lora_rank", 5},        {"qk_nope_head_dim", 3},      {"qk_rope_head_dim", 2},
          {"v_head_dim", 4},          {"n_routed_experts", 4},      {"moe_topk", 3},
          {"zero_expert_num", 2},     {"expert_ffn_hidden_size", 6}};
}

}  // namespace

const std::map<absl::string_view, Fields>& MixerFields() {
  static const std::map<absl::string_view, Fields> fields = {
      {"qwen3_next", WithDeltaNet({{"num_experts", 4},
                                   {"num_experts_per_tok", 2},
                                   {"moe_intermediate_size", 6},
                                   {"shared_expert_intermediate_size", 10}})},
      {"qwen3_5_text", WithDeltaNet({})},
      {"qwen3_5_moe_text", WithDeltaNet({{"num_experts", 4},
                                         {"num_experts_per_tok", 2},
                                         {"moe_intermediate_size", 6},
                                         {"shared_expert_intermediate_size", 10}})},
      {"kimi_linear", WithKimiDelta({{"num_experts_per_token", 2},
                                     {"linear_attn_config.num_heads", 2},
                                     {"linear_attn_config.head_dim", 3},
                                     {"linear_attn_config.short_conv_kernel_size", 2}})},
      {"bailing_hybrid", WithKimiDelta({{"num_experts_per_tok", 2},
                                        {"head_dim", 3},
                                        {"short_conv_kernel_size", 2},
                                        {"no_kda_lora", true},
                                        {"gated_attention_proj_granularity_type", "head_wise"},
                                        {"layer_group_size", 2}})},
      {"lfm2", LlamaWith({{"conv_L_cache", 3}, {"block_auto_adjust_ff_dim", false}})},
      {"lfm2_moe", LlamaWith({{"conv_L_cache", 3},
                              {"num_dense_layers", 1},
                              {"num_experts", 4},
                              {"num_experts_per_tok", 2},
                              {"moe_intermediate_size", 6}})},
      {"longcat_flash", LongcatFields()},
      {"gemma4_text", LlamaWith({{"head_dim", 4},
                                 {"global_head_dim", 6},
                                 {"num_global_key_value_heads", 1},
                                 {"attention_k_eq_v", true},
                                 {"enable_moe_block", true},
                                 {"num_experts", 4},
                                 {"top_k_experts", 2},
                                 {"moe_intermediate_size", 6}})},
      {"nemotron_h", LlamaWith({{"head_dim", 4},
                                {"hybrid_override_pattern", "M*-E"},
                                {"mamba_num_heads", 4},
                                {"mamba_head_dim", 3},
                                {"n_groups", 2},
                                {"ssm_state_size", 5},
                                {"conv_kernel", 2},
                                {"n_routed_experts", 4},
                                {"num_experts_per_tok", 2},
                                {"moe_intermediate_size", 6},
                                {"moe_latent_size", 5},
                                {"n_shared_experts", 1},
                                {"moe_shared_expert_intermediate_size", 10}})},
      {"falcon_h1", WithMamba2({{"mamba_rms_norm", false}})},
      {"mamba2",
       {{"num_hidden_layers", 4},
        {"hidden_size", 8},
        {"vocab_size", 10},
        {"num_heads", 4},
        {"head_dim", 3},
        {"n_groups", 2},
        {"state_size", 5},
        {"conv_kernel", 2}}},
      {"bamba", WithMamba2({})},
      {"minimax",
       LlamaWith({{"head_dim", 4}, {"num_local_experts", 4}, {"num_experts_per_tok", 2}})},
      {"minimax_text_01",
       LlamaWith({{"head_dim", 4}, {"num_local_experts", 4}, {"num_experts_per_tok", 2}})},
      {"minimax_m1",
       LlamaWith({{"head_dim", 4}, {"num_local_experts", 4}, {"num_experts_per_tok", 2}})},
      {"jamba", LlamaWith({{"num_experts", 4},
                           {"num_experts_per_tok", 2},
                           {"attn_layer_period", 4},
                           {"attn_layer_offset", 1},
                           {"mamba_expand", 2},
                           {"mamba_d_state", 5},
                           {"mamba_d_conv", 2},
                           {"mamba_dt_rank", 3}})},
  };
  return fields;
}

void AddMixerArrays(absl::string_view model_type, ConfigFields& out) {
  if (model_type == "lfm2" || model_type == "lfm2_moe") {
    out["layer_types"] = TextArray({"conv", "full_attention", "conv", "conv"});
  }
  if (model_type == "gemma4_text") {
    out["layer_types"] = TextArray(
        {"sliding_attention", "sliding_attention", "sliding_attention", "full_attention"});
  }
  if (model_type == "minimax") {
    out["layer_types"] =
        TextArray({"linear_attention", "linear_attention", "linear_attention", "full_attention"});
  }
  if (model_type == "minimax_text_01" || model_type == "minimax_m1") {
    out["attn_type_list"] = NumberArray({0, 0, 0, 1});
  }
  if (model_type == "bamba") out["attn_layer_indices"] = NumberArray({1});
  if (model_type != "kimi_linear") return;
  for (const auto& [name, numbers] :
       {std::pair<const char*, std::vector<int64_t>>{"full_attn_layers", {2, 4}},
        {"kda_layers", {1, 3}}}) {
    ConfigValue array = NumberArray(numbers);
    array.name = name;
    ConfigValue& object = out["linear_attn_config"];
    object.elements.push_back(array);
    ++object.element_count;
  }
}

}  // namespace sextant
