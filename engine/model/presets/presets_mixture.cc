// Mixtures of experts: Mixtral, Qwen's, OLMoE, DBRX, gpt-oss and Llama 4.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kMixtureConfigSource[] =
    "public config.json, from memory, fixed by the published count";
constexpr char kWindowSource[] =
    "public config.json, from memory, fixed by the published count but for the sliding window";
constexpr char kLlama4Source[] =
    "public config.json, its text_config, from memory, fixed by the published count but for the "
    "chunks";
constexpr char kDbrxSource[] = "public config.json, from memory; total counted by hand";

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

constexpr PresetTable kMixtureTables[] = {
    {kMixtureConfigSource, kMixtral, kGroupedSizes, kMixtralRows},
    {kMixtureConfigSource, kQwen2Moe, kQwen2MoeColumns, kQwen2MoeRows},
    {kMixtureConfigSource, kQwen3Moe, kQwen3MoeColumns, kQwen3MoeRows},
    {kMixtureConfigSource, kOlmoe, kGroupedSizes, kOlmoeRows},
    {kDbrxSource, kDbrx, kDbrxColumns, kDbrxRows},
    {kWindowSource, kGptOss, kGptOssColumns, kGptOssRows},
    {kLlama4Source, kLlama4, kLlama4Columns, kLlama4Rows},
};

}  // namespace

absl::Span<const PresetTable> MixtureTables() { return kMixtureTables; }

}  // namespace sextant
