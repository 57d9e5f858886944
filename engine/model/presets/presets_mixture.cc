// Mixtures of experts: Mixtral, Qwen's, OLMoE, DBRX, gpt-oss and Llama 4; with multi-head latent
// attention DeepSeek's and Kimi K2.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kWindowSource[] =
    "public config.json, from memory, fixed by the published count but for the sliding window";
constexpr char kLlama4Source[] =
    "public config.json, its text_config, from memory, fixed by the published count but for the "
    "chunks";
constexpr char kDbrxSource[] = "public config.json, from memory; total counted by hand";
constexpr char kV3Source[] =
    "public config.json, from memory, fixed by the published counts of the main model and of the "
    "checkpoint; with its module of multi-token prediction";
constexpr char kKimiSource[] =
    "public config.json, from memory; the published count has 56 numbers more a layer";

constexpr ConfigField kMixtral[] = {{"model_type", "mixtral"},
                                    {"vocab_size", 32000},
                                    {"num_local_experts", 8},
                                    {"num_experts_per_tok", 2},
                                    {"sliding_window", nullptr}};

constexpr PresetRow kMixtralRows[] = {
    {"mixtral-8x7b", {32, 4096, 14336, 32, 8}},
    {"mixtral-8x7b-v0.1", {32, 4096, 14336, 32, 8}},
    {"mixtral-8x22b", {56, 6144, 16384, 48, 8}},
    {"mixtral-8x22b-v0.1", {56, 6144, 16384, 48, 8}},
};

constexpr ConfigField kQwen2Moe[] = {{"model_type", "qwen2_moe"}, {"vocab_size", 151936}};

constexpr absl::string_view kQwen2MoeColumns[] = {
    "num_hidden_layers",   "hidden_size",           "intermediate_size",
    "num_attention_heads", "num_key_value_heads",   "num_experts",
    "num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size"};

constexpr PresetRow kQwen2MoeRows[] = {
    {"qwen1.5-moe-a2.7b", {24, 2048, 5632, 16, 16, 60, 4, 1408, 5632}},
    {"qwen2-57b-a14b", {28, 3584, 18944, 28, 4, 64, 8, 2560, 20480}},
};

constexpr ConfigField kQwen3Moe[] = {{"model_type", "qwen3_moe"},
                                     {"vocab_size", 151936},
                                     {"num_experts_per_tok", 8},
                                     {"head_dim", 128}};

constexpr absl::string_view kQwen3MoeColumns[] = {
    "num_hidden_layers",   "hidden_size", "intermediate_size",    "num_attention_heads",
    "num_key_value_heads", "num_experts", "moe_intermediate_size"};

constexpr PresetRow kQwen3MoeRows[] = {
    {"qwen3-30b-a3b", {48, 2048, 6144, 32, 4, 128, 768}},
    {"qwen3-235b-a22b", {94, 4096, 12288, 64, 4, 128, 1536}},
    {"qwen3-coder-480b-a35b", {62, 6144, 8192, 96, 8, 160, 2560}},
};

constexpr ConfigField kOlmoe[] = {{"model_type", "olmoe"},
                                  {"vocab_size", 50304},
                                  {"num_experts", 64},
                                  {"num_experts_per_tok", 8}};

constexpr PresetRow kOlmoeRows[] = {{"olmoe-1b-7b", {16, 2048, 1024, 16, 16}}};

constexpr ConfigField kDbrx[] = {{"model_type", "dbrx"},
                                 {"vocab_size", 100352},
                                 {"attn_config.kv_n_heads", 8},
                                 {"ffn_config.ffn_hidden_size", 10752},
                                 {"ffn_config.moe_num_experts", 16},
                                 {"ffn_config.moe_top_k", 4}};

constexpr absl::string_view kDbrxColumns[] = {"n_layers", "d_model", "n_heads"};

constexpr PresetRow kDbrxRows[] = {{"dbrx", {40, 6144, 48}}};

constexpr ConfigField kGptOss[] = {{"model_type", "gpt_oss"},
                                   {"vocab_size", 201088},
                                   {"hidden_size", 2880},
                                   {"intermediate_size", 2880},
                                   {"num_attention_heads", 64},
                                   {"num_key_value_heads", 8},
                                   {"head_dim", 64},
                                   {"num_experts_per_tok", 4},
                                   {"sliding_window", 128}};

constexpr absl::string_view kGptOssColumns[] = {"num_hidden_layers", "num_local_experts"};

constexpr PresetRow kGptOssRows[] = {{"gpt-oss-20b", {24, 32}}, {"gpt-oss-120b", {36, 128}}};

constexpr ConfigField kLlama4[] = {
    {"model_type", "llama4_text"}, {"vocab_size", 202048},        {"num_hidden_layers", 48},
    {"hidden_size", 5120},         {"intermediate_size", 8192},   {"intermediate_size_mlp", 16384},
    {"num_attention_heads", 40},   {"num_key_value_heads", 8},    {"head_dim", 128},
    {"num_experts_per_tok", 1},    {"attention_chunk_size", 8192}};

constexpr absl::string_view kLlama4Columns[] = {"num_local_experts", "interleave_moe_layer_step"};

constexpr PresetRow kLlama4Rows[] = {{"llama-4-scout", {16, 1}}, {"llama-4-maverick", {128, 2}}};

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
    {"deepseek-v3.1", {61, 7168, 18432, 128, 256, 1, 2048, 3, 129280}},
    {"deepseek-r1", {61, 7168, 18432, 128, 256, 1, 2048, 3, 129280}},
};

constexpr ConfigField kKimi[] = {{"model_type", "kimi_k2"},  {"q_lora_rank", 1536},
                                 {"kv_lora_rank", 512},      {"qk_nope_head_dim", 128},
                                 {"qk_rope_head_dim", 64},   {"v_head_dim", 128},
                                 {"num_experts_per_tok", 8}, {"num_nextn_predict_layers", 0}};

constexpr PresetRow kKimiRows[] = {{"kimi-k2", {61, 7168, 18432, 64, 384, 1, 2048, 1, 163840}}};

constexpr PresetTable kMixtureTables[] = {
    {kConfigSource, kMixtral, kGroupedSizes, kMixtralRows},
    {kConfigSource, kQwen2Moe, kQwen2MoeColumns, kQwen2MoeRows},
    {kConfigSource, kQwen3Moe, kQwen3MoeColumns, kQwen3MoeRows},
    {kConfigSource, kOlmoe, kGroupedSizes, kOlmoeRows},
    {kDbrxSource, kDbrx, kDbrxColumns, kDbrxRows},
    {kWindowSource, kGptOss, kGptOssColumns, kGptOssRows},
    {kLlama4Source, kLlama4, kLlama4Columns, kLlama4Rows},
    {kConfigSource, kV2, kLatentColumns, kV2Rows},
    {kConfigSource, kV2Lite, kLatentColumns, kV2LiteRows},
    {kV3Source, kV3, kLatentColumns, kV3Rows},
    {kKimiSource, kKimi, kLatentColumns, kKimiRows},
};

}  // namespace

absl::Span<const PresetTable> MixtureTables() { return kMixtureTables; }

}  // namespace sextant
