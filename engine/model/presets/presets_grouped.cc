// Models of 2025 with grouped-query attention: mixtures of experts, and dense ones that are of no
// older family; GLM-4.7-Flash has latent attention.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kModulesSource[] =
    "public config.json, from memory, fixed by the published totals; with its module of "
    "multi-token "
    "prediction";

constexpr absl::string_view kGlmColumns[] = {
    "num_hidden_layers",   "hidden_size",           "intermediate_size", "num_attention_heads",
    "num_key_value_heads", "moe_intermediate_size", "n_routed_experts",  "first_k_dense_replace"};

constexpr ConfigField kGlm[] = {{"model_type", "glm4_moe"}, {"head_dim", 128},
                                {"vocab_size", 151552},     {"attention_bias", true},
                                {"num_experts_per_tok", 8}, {"n_shared_experts", 1},
                                {"use_qk_norm", true},      {"num_nextn_predict_layers", 1}};

constexpr PresetRow kGlmRows[] = {
    {"glm-4.5", {92, 5120, 12288, 96, 8, 1536, 160, 3}},
    {"glm-4.6", {92, 5120, 12288, 96, 8, 1536, 160, 3}},
};

constexpr ConfigField kGlmAir[] = {{"model_type", "glm4_moe"}, {"head_dim", 128},
                                   {"vocab_size", 151552},     {"attention_bias", true},
                                   {"num_experts_per_tok", 8}, {"n_shared_experts", 1},
                                   {"use_qk_norm", false},     {"num_nextn_predict_layers", 1}};

constexpr PresetRow kGlmAirRows[] = {{"glm-4.5-air", {46, 4096, 10944, 96, 8, 1408, 128, 1}}};

constexpr ConfigField kGlmFlash[] = {
    {"model_type", "glm4_moe_lite"}, {"q_lora_rank", 768},     {"kv_lora_rank", 512},
    {"qk_nope_head_dim", 192},       {"qk_rope_head_dim", 64}, {"v_head_dim", 256},
    {"vocab_size", 154880},          {"n_shared_experts", 1},  {"num_experts_per_tok", 4}};

constexpr absl::string_view kGlmFlashColumns[] = {
    "num_hidden_layers", "hidden_size",           "intermediate_size",    "num_attention_heads",
    "n_routed_experts",  "moe_intermediate_size", "first_k_dense_replace"};

constexpr PresetRow kGlmFlashRows[] = {{"glm-4.7-flash", {47, 2048, 10240, 20, 64, 1536, 1}}};

constexpr absl::string_view kLingColumns[] = {
    "num_hidden_layers",   "hidden_size",           "intermediate_size", "num_attention_heads",
    "num_key_value_heads", "moe_intermediate_size", "num_experts",       "first_k_dense_replace"};

constexpr ConfigField kLing[] = {{"model_type", "bailing_moe_v2"},
                                 {"head_dim", 128},
                                 {"vocab_size", 157184},
                                 {"num_experts_per_tok", 8},
                                 {"num_shared_experts", 1},
                                 {"n_group", 8},
                                 {"topk_group", 4},
                                 {"use_qk_norm", true},
                                 {"moe_router_enable_expert_bias", true}};

constexpr PresetRow kLingRows[] = {
    {"ling-mini-2.0", {20, 2048, 5120, 16, 4, 512, 256, 1}},
    {"ling-1t", {80, 8192, 18432, 64, 8, 2048, 256, 4}},
};

constexpr absl::string_view kDenseAndExperts[] = {
    "num_hidden_layers",   "hidden_size",           "intermediate_size", "num_attention_heads",
    "num_key_value_heads", "moe_intermediate_size", "vocab_size"};

constexpr ConfigField kDots[] = {{"model_type", "dots1"},    {"head_dim", 128},
                                 {"n_routed_experts", 128},  {"n_shared_experts", 2},
                                 {"num_experts_per_tok", 6}, {"first_k_dense_replace", 1}};

constexpr PresetRow kDotsRows[] = {{"dots.llm1", {62, 4096, 10944, 32, 32, 1408, 152064}}};

constexpr ConfigField kErnieMoe[] = {{"model_type", "ernie4_5_moe"},
                                     {"head_dim", 128},
                                     {"moe_num_experts", 64},
                                     {"moe_k", 6},
                                     {"moe_num_shared_experts", 2}};

constexpr PresetRow kErnieMoeRows[] = {
    {"ernie-4.5-21b-a3b", {28, 2560, 12288, 20, 4, 1536, 103424}}};

constexpr ConfigField kHunyuan[] = {{"model_type", "hunyuan_v1_moe"},
                                    {"head_dim", 128},
                                    {"num_experts", 64},
                                    {"moe_topk", 8},
                                    {"num_shared_expert", 1},
                                    {"tie_word_embeddings", true}};

constexpr PresetRow kHunyuanRows[] = {{"hunyuan-a13b", {32, 4096, 3072, 32, 8, 3072, 128167}}};

constexpr ConfigField kTrinity[] = {{"model_type", "afmoe"},   {"head_dim", 128},
                                    {"num_experts", 128},      {"num_experts_per_tok", 8},
                                    {"num_shared_experts", 1}, {"num_dense_layers", 2},
                                    {"sliding_window", 2048},  {"global_attn_every_n_layers", 4}};

constexpr PresetRow kTrinityRows[] = {{"trinity-mini", {32, 2048, 6144, 32, 4, 1024, 200192}}};

constexpr absl::string_view kDenseColumns[] = {
    "num_hidden_layers",   "hidden_size", "intermediate_size", "num_attention_heads",
    "num_key_value_heads", "head_dim",    "vocab_size"};

constexpr ConfigField kMiniMax[] = {
    {"model_type", "minimax_m2"}, {"num_local_experts", 256}, {"num_experts_per_tok", 8}};

constexpr PresetRow kMiniMaxRows[] = {
    {"minimax-m2", {62, 3072, 1536, 48, 8, 128, 200064}},
    {"minimax-m2.5", {62, 3072, 1536, 48, 8, 128, 200064}},
};

constexpr ConfigField kGraniteMoe[] = {{"model_type", "granitemoe"},
                                       {"tie_word_embeddings", true},
                                       {"num_local_experts", 32},
                                       {"num_experts_per_tok", 8}};

constexpr PresetRow kGraniteMoeRows[] = {
    {"granite-3.1-1b-a400m", {24, 1024, 512, 16, 8, 64, 49155}}};

constexpr ConfigField kGlm4[] = {{"model_type", "glm4"}, {"attention_bias", false}};
constexpr PresetRow kGlm4Rows[] = {{"glm-4-32b-0414", {61, 6144, 23040, 48, 2, 128, 151552}}};

constexpr ConfigField kErnie[] = {{"model_type", "ernie4_5"}};
constexpr PresetRow kErnieRows[] = {{"ernie-4.5-0.3b", {18, 1024, 3072, 16, 2, 128, 103424}}};

constexpr ConfigField kMimo[] = {{"model_type", "mimo"}, {"num_nextn_predict_layers", 1}};
constexpr PresetRow kMimoRows[] = {{"mimo-7b", {36, 4096, 11008, 32, 8, 128, 151680}}};

constexpr ConfigField kExaone[] = {
    {"model_type", "exaone4"}, {"tie_word_embeddings", true}, {"sliding_window", nullptr}};
constexpr PresetRow kExaoneRows[] = {{"exaone-4.0-1.2b", {30, 2048, 4096, 32, 8, 64, 102400}}};

constexpr ConfigField kApertus[] = {{"model_type", "apertus"}};
constexpr PresetRow kApertusRows[] = {{"apertus-8b", {32, 4096, 21504, 32, 8, 128, 131072}}};

constexpr ConfigField kSeed[] = {{"model_type", "seed_oss"}};
constexpr PresetRow kSeedRows[] = {{"seed-oss-36b", {64, 5120, 27648, 80, 8, 128, 155136}}};

constexpr ConfigField kInternLm[] = {{"model_type", "internlm3"}};
constexpr PresetRow kInternLmRows[] = {{"internlm3-8b", {48, 4096, 10240, 32, 2, 128, 128512}}};

constexpr ConfigField kArcee[] = {{"model_type", "arcee"}};
constexpr PresetRow kArceeRows[] = {{"afm-4.5b", {36, 2560, 18432, 20, 4, 128, 128004}}};

constexpr PresetTable kGroupedTables[] = {
    {kModulesSource, kGlm, kGlmColumns, kGlmRows},
    {kModulesSource, kGlmAir, kGlmColumns, kGlmAirRows},
    {kConfigSource, kGlmFlash, kGlmFlashColumns, kGlmFlashRows},
    {kConfigSource, kLing, kLingColumns, kLingRows},
    {kConfigSource, kDots, kDenseAndExperts, kDotsRows},
    {kConfigSource, kErnieMoe, kDenseAndExperts, kErnieMoeRows},
    {kConfigSource, kHunyuan, kDenseAndExperts, kHunyuanRows},
    {kConfigSource, kTrinity, kDenseAndExperts, kTrinityRows},
    {kConfigSource, kMiniMax, kDenseColumns, kMiniMaxRows},
    {kConfigSource, kGraniteMoe, kDenseColumns, kGraniteMoeRows},
    {kConfigSource, kGlm4, kDenseColumns, kGlm4Rows},
    {kConfigSource, kErnie, kDenseColumns, kErnieRows},
    {kModulesSource, kMimo, kDenseColumns, kMimoRows},
    {kConfigSource, kExaone, kDenseColumns, kExaoneRows},
    {kConfigSource, kApertus, kDenseColumns, kApertusRows},
    {kConfigSource, kSeed, kDenseColumns, kSeedRows},
    {kConfigSource, kInternLm, kDenseColumns, kInternLmRows},
    {kConfigSource, kArcee, kDenseColumns, kArceeRows},
};

}  // namespace

absl::Span<const PresetTable> GroupedTables() { return kGroupedTables; }

}  // namespace sextant
