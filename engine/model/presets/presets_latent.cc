// Mixtures with multi-head latent attention: DeepSeek's, and Kimi K2.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kLatentConfigSource[] =
    "public config.json, from memory, fixed by the published count";
constexpr char kV3Source[] =
    "public config.json, from memory, fixed by the published counts of the main model and of the "
    "checkpoint; with its module of multi-token prediction";
constexpr char kKimiSource[] =
    "public config.json, from memory; the published count has 56 numbers more a layer";

// All heads have plain keys of 128 and rotary ones of 64, and values of 128.
constexpr absl::string_view kLatentColumns[] = {
    "num_hidden_layers",     "hidden_size",           "intermediate_size",
    "num_attention_heads",   "n_routed_experts",      "n_shared_experts",
    "moe_intermediate_size", "first_k_dense_replace", "vocab_size"};

constexpr ConfigField kV2[] = {{"model_type", "deepseek_v2"},
                               {"q_lora_rank", 1536},
                               {"kv_lora_rank", 512},
                               {"qk_nope_head_dim", 128},
                               {"qk_rope_head_dim", 64},
                               {"v_head_dim", 128},
                               {"num_experts_per_tok", 6},
                               {"n_group", 8},
                               {"topk_group", 3},
                               {"topk_method", "group_limited_greedy"}};

constexpr PresetRow kV2Rows[] = {
    {"deepseek-v2", {60, 5120, 12288, 128, 160, 2, 1536, 1, 102400}},
    {"deepseek-v2.5", {60, 5120, 12288, 128, 160, 2, 1536, 1, 102400}},
};

constexpr ConfigField kV2Lite[] = {{"model_type", "deepseek_v2"}, {"q_lora_rank", nullptr},
                                   {"kv_lora_rank", 512},         {"qk_nope_head_dim", 128},
                                   {"qk_rope_head_dim", 64},      {"v_head_dim", 128},
                                   {"num_experts_per_tok", 6}};

constexpr PresetRow kV2LiteRows[] = {
    {"deepseek-v2-lite", {27, 2048, 10944, 16, 64, 2, 1408, 1, 102400}}};

constexpr ConfigField kV3[] = {{"model_type", "deepseek_v3"},
                               {"q_lora_rank", 1536},
                               {"kv_lora_rank", 512},
                               {"qk_nope_head_dim", 128},
                               {"qk_rope_head_dim", 64},
                               {"v_head_dim", 128},
                               {"num_experts_per_tok", 8},
                               {"num_nextn_predict_layers", 1},
                               {"n_group", 8},
                               {"topk_group", 4}};

constexpr PresetRow kV3Rows[] = {
    {"deepseek-v3", {61, 7168, 18432, 128, 256, 1, 2048, 3, 129280}},
    {"deepseek-r1", {61, 7168, 18432, 128, 256, 1, 2048, 3, 129280}},
};

constexpr ConfigField kKimi[] = {{"model_type", "kimi_k2"},  {"q_lora_rank", 1536},
                                 {"kv_lora_rank", 512},      {"qk_nope_head_dim", 128},
                                 {"qk_rope_head_dim", 64},   {"v_head_dim", 128},
                                 {"num_experts_per_tok", 8}, {"num_nextn_predict_layers", 0}};

constexpr PresetRow kKimiRows[] = {{"kimi-k2", {61, 7168, 18432, 64, 384, 1, 2048, 1, 163840}}};

constexpr PresetTable kLatentTables[] = {
    {kLatentConfigSource, kV2, kLatentColumns, kV2Rows},
    {kLatentConfigSource, kV2Lite, kLatentColumns, kV2LiteRows},
    {kV3Source, kV3, kLatentColumns, kV3Rows},
    {kKimiSource, kKimi, kLatentColumns, kKimiRows},
};

}  // namespace

absl::Span<const PresetTable> LatentTables() { return kLatentTables; }

}  // namespace sextant
