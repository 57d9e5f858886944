// Models with mixers: delta rules, state-space layers and short convolutions, alone, between layers
// of attention or in parallel with it; and those with both a feed-forward and experts in a layer.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kAheadSource[] =
    "public config.json (ai-dynamo/aiconfigurator, model_configs), fixed by the published total; "
    "the text model with its module of multi-token prediction";

constexpr char kGatedSource[] =
    "public config.json (ai-dynamo/aiconfigurator, model_configs), fixed by a count of the public "
    "code";

constexpr absl::string_view kQwenColumns[] = {"num_hidden_layers",
                                              "hidden_size",
                                              "num_attention_heads",
                                              "num_key_value_heads",
                                              "linear_num_value_heads",
                                              "num_experts",
                                              "moe_intermediate_size",
                                              "num_experts_per_tok",
                                              "vocab_size"};

constexpr ConfigField kQwen3Next[] = {
    {"model_type", "qwen3_next"},   {"head_dim", 256},
    {"full_attention_interval", 4}, {"linear_num_key_heads", 16},
    {"linear_key_head_dim", 128},   {"linear_value_head_dim", 128},
    {"linear_conv_kernel_dim", 4},  {"shared_expert_intermediate_size", 512}};

constexpr PresetRow kQwen3NextRows[] = {
    {"qwen3-next-80b-a3b", {48, 2048, 16, 2, 32, 512, 512, 10, 151936}}};

constexpr ConfigField kQwen35Moe[] = {
    {"model_type", "qwen3_5_moe_text"}, {"head_dim", 256},
    {"full_attention_interval", 4},     {"linear_num_key_heads", 16},
    {"linear_key_head_dim", 128},       {"linear_value_head_dim", 128},
    {"linear_conv_kernel_dim", 4},      {"shared_expert_intermediate_size", 512},
    {"mtp_num_hidden_layers", 1}};

constexpr PresetRow kQwen35MoeRows[] = {
    {"qwen3.5-35b-a3b", {40, 2048, 16, 2, 32, 256, 512, 8, 248320}}};

constexpr ConfigField kQwen35Large[] = {
    {"model_type", "qwen3_5_moe_text"}, {"head_dim", 256},
    {"full_attention_interval", 4},     {"linear_num_key_heads", 16},
    {"linear_key_head_dim", 128},       {"linear_value_head_dim", 128},
    {"linear_conv_kernel_dim", 4},      {"shared_expert_intermediate_size", 1024},
    {"mtp_num_hidden_layers", 1}};

constexpr PresetRow kQwen35LargeRows[] = {
    {"qwen3.5-122b-a10b", {48, 3072, 32, 2, 64, 256, 1024, 8, 248320}}};

constexpr ConfigField kQwen35[] = {{"model_type", "qwen3_5_text"}, {"head_dim", 256},
                                   {"full_attention_interval", 4}, {"linear_num_key_heads", 16},
                                   {"linear_key_head_dim", 128},   {"linear_value_head_dim", 128},
                                   {"linear_conv_kernel_dim", 4},  {"intermediate_size", 17408},
                                   {"mtp_num_hidden_layers", 1}};

constexpr PresetRow kQwen35Rows[] = {{"qwen3.5-27b", {64, 5120, 24, 4, 48, 0, 0, 0, 248320}}};

constexpr ConfigField kKimiLinear[] = {
    {"model_type", "kimi_linear"},
    {"q_lora_rank", nullptr},
    {"kv_lora_rank", 512},
    {"qk_nope_head_dim", 128},
    {"qk_rope_head_dim", 64},
    {"v_head_dim", 128},
    {"moe_intermediate_size", 1024},
    {"num_experts", 256},
    {"num_experts_per_token", 8},
    {"num_shared_experts", 1},
    {"first_k_dense_replace", 1},
    {"vocab_size", 163840},
    {"linear_attn_config.num_heads", 32},
    {"linear_attn_config.head_dim", 128},
    {"linear_attn_config.short_conv_kernel_size", 4},
    {"linear_attn_config.full_attn_layers", NumbersInText{"4 8 12 16 20 24 27"}},
    {"linear_attn_config.kda_layers",
     NumbersInText{"1 2 3 5 6 7 9 10 11 13 14 15 17 18 19 21 22 23 25 26"}}};

constexpr PresetRow kKimiLinearRows[] = {{"kimi-linear-48b-a3b", {27, 2304, 9216, 32}}};

constexpr absl::string_view kHybridColumns[] = {"hidden_size",         "num_attention_heads",
                                                "num_key_value_heads", "intermediate_size",
                                                "mamba_num_heads",     "ssm_state_size"};

constexpr ConfigField kNemotronH56[] = {{"model_type", "nemotron_h"},
                                        {"head_dim", 128},
                                        {"mamba_head_dim", 64},
                                        {"n_groups", 8},
                                        {"conv_kernel", 4},
                                        {"vocab_size", 131072},
                                        {"hybrid_override_pattern",
                                         "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-"
                                         "M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-"
                                         "M*-M-M-M-M-M*-M-M-M-M-M-"}};

constexpr PresetRow kNemotronH56Rows[] = {{"nemotron-h-56b", {8192, 64, 8, 32768, 256, 256}}};

constexpr ConfigField kNemotronH[] = {
    {"model_type", "nemotron_h"},
    {"head_dim", 128},
    {"mamba_head_dim", 64},
    {"n_groups", 8},
    {"conv_kernel", 4},
    {"vocab_size", 131072},
    {"hybrid_override_pattern", "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"}};

constexpr PresetRow kNemotronHRows[] = {{"nemotron-h-8b", {4096, 32, 8, 21504, 128, 128}}};

constexpr ConfigField kNemotron3Nano[] = {
    {"model_type", "nemotron_h"},
    {"head_dim", 128},
    {"mamba_head_dim", 64},
    {"n_groups", 8},
    {"conv_kernel", 4},
    {"vocab_size", 131072},
    {"n_routed_experts", 128},
    {"n_shared_experts", 1},
    {"num_experts_per_tok", 6},
    {"moe_intermediate_size", 1856},
    {"moe_shared_expert_intermediate_size", 3712},
    {"hybrid_override_pattern", "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"}};

constexpr PresetRow kNemotron3NanoRows[] = {{"nemotron-3-nano-30b-a3b", {2688, 32, 2, 0, 64, 128}}};

constexpr ConfigField kNemotron3Ultra[] = {{"model_type", "nemotron_h"},
                                           {"head_dim", 128},
                                           {"mamba_head_dim", 64},
                                           {"n_groups", 8},
                                           {"conv_kernel", 4},
                                           {"vocab_size", 131072},
                                           {"n_routed_experts", 512},
                                           {"n_shared_experts", 1},
                                           {"num_experts_per_tok", 22},
                                           {"moe_intermediate_size", 5120},
                                           {"moe_shared_expert_intermediate_size", 10240},
                                           {"moe_latent_size", 2048},
                                           {"num_nextn_predict_layers", 1},
                                           {"mtp_hybrid_override_pattern", "*E"},
                                           {"hybrid_override_pattern",
                                            "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*"
                                            "EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEM"
                                            "EMEM*EMEMEMEME"}};

constexpr PresetRow kNemotron3UltraRows[] = {{"nemotron-3-ultra-550b", {8192, 64, 2, 0, 256, 128}}};

constexpr absl::string_view kGraniteColumns[] = {
    "hidden_size",   "num_attention_heads", "num_key_value_heads", "shared_intermediate_size",
    "mamba_n_heads", "num_local_experts",   "num_experts_per_tok", "intermediate_size"};

constexpr ConfigField kGranite4[] = {
    {"model_type", "granitemoehybrid"},
    {"num_hidden_layers", 40},
    {"vocab_size", 100352},
    {"mamba_d_head", 64},
    {"mamba_n_groups", 1},
    {"mamba_d_state", 128},
    {"mamba_d_conv", 4},
    {"mamba_expand", 2},
    {"tie_word_embeddings", true},
    {"layer_types",
     WordsByLetter{"mamba", "attention", "mmmmmxmmmmmmmmmxmmmmmmmmmxmmmmmmmmmxmmmm"}}};

constexpr PresetRow kGranite4Rows[] = {
    {"granite-4.0-h-tiny", {1536, 12, 4, 1024, 48, 64, 6, 512}},
};

constexpr ConfigField kGranite4Dense[] = {
    {"model_type", "granitemoehybrid"},
    {"num_hidden_layers", 40},
    {"vocab_size", 100352},
    {"mamba_d_head", 64},
    {"mamba_n_groups", 1},
    {"mamba_d_state", 128},
    {"mamba_d_conv", 4},
    {"mamba_expand", 2},
    {"num_local_experts", 0},
    {"tie_word_embeddings", true},
    {"layer_types",
     WordsByLetter{"mamba", "attention", "mmmmmxmmmmmmmmmxmmmmmmmmmxmmmmmmmmmxmmmm"}}};

constexpr PresetRow kGranite4DenseRows[] = {{"granite-4.0-h-micro", {2048, 32, 8, 8192, 64}}};

constexpr ConfigField kFalconH1[] = {{"model_type", "falcon_h1"}, {"head_dim", 64},
                                     {"mamba_n_heads", 24},       {"mamba_d_head", 64},
                                     {"mamba_n_groups", 1},       {"mamba_d_state", 128},
                                     {"mamba_d_conv", 4},         {"mamba_d_ssm", 1536},
                                     {"mamba_rms_norm", false},   {"vocab_size", 32784}};

constexpr PresetRow kFalconH1Rows[] = {{"falcon-h1-0.5b", {36, 1024, 2048, 8, 2}}};

constexpr ConfigField kCodestral[] = {
    {"model_type", "mamba2"}, {"num_hidden_layers", 64}, {"hidden_size", 4096},
    {"num_heads", 128},       {"head_dim", 64},          {"n_groups", 8},
    {"state_size", 128},      {"conv_kernel", 4},        {"expand", 2},
    {"vocab_size", 32768}};

constexpr PresetRow kCodestralRows[] = {{"codestral-mamba-7b", {}}};

constexpr ConfigField kBamba[] = {{"model_type", "bamba"},
                                  {"mamba_n_heads", 128},
                                  {"mamba_d_head", 64},
                                  {"mamba_n_groups", 1},
                                  {"mamba_d_state", 128},
                                  {"mamba_d_conv", 4},
                                  {"mamba_expand", 2},
                                  {"vocab_size", 128256},
                                  {"attn_layer_indices", NumbersInText{"9 18 27"}}};

constexpr PresetRow kBambaRows[] = {{"bamba-9b", {32, 4096, 14336, 32, 8}}};

constexpr ConfigField kJamba[] = {{"model_type", "jamba"},    {"mamba_d_state", 16},
                                  {"mamba_d_conv", 4},        {"mamba_expand", 2},
                                  {"mamba_dt_rank", "auto"},  {"num_experts", 16},
                                  {"num_experts_per_tok", 2}, {"vocab_size", 65536}};

constexpr PresetRow kJambaRows[] = {{"jamba-v0.1", {32, 4096, 14336, 32, 8}}};

constexpr absl::string_view kLfmColumns[] = {"hidden_size", "intermediate_size",
                                             "num_attention_heads"};

constexpr ConfigField kLfm2[] = {
    {"model_type", "lfm2"},     {"num_hidden_layers", 16},
    {"num_key_value_heads", 8}, {"conv_L_cache", 3},
    {"vocab_size", 65536},      {"full_attn_idxs", NumbersInText{"2 5 8 10 12 14"}}};

constexpr PresetRow kLfm2Rows[] = {
    {"lfm2-350m", {1024, 6656, 16}},
    {"lfm2-700m", {1536, 10240, 24}},
    {"lfm2-1.2b", {2048, 12288, 32}},
};

constexpr ConfigField kLfm2Large[] = {{"model_type", "lfm2"},
                                      {"num_hidden_layers", 30},
                                      {"num_key_value_heads", 8},
                                      {"conv_L_cache", 3},
                                      {"vocab_size", 65536},
                                      {"block_auto_adjust_ff_dim", false},
                                      {"full_attn_idxs", NumbersInText{"2 5 9 13 17 21 25 28"}}};

constexpr PresetRow kLfm2LargeRows[] = {{"lfm2-2.6b", {2048, 10752, 32}}};

constexpr ConfigField kLfm2Moe[] = {{"model_type", "lfm2_moe"},
                                    {"num_hidden_layers", 24},
                                    {"num_key_value_heads", 8},
                                    {"conv_L_cache", 3},
                                    {"vocab_size", 65536},
                                    {"num_dense_layers", 2},
                                    {"num_experts", 32},
                                    {"num_experts_per_tok", 4},
                                    {"moe_intermediate_size", 1792},
                                    {"full_attn_idxs", NumbersInText{"2 6 10 14 18 21"}}};

constexpr PresetRow kLfm2MoeRows[] = {{"lfm2-8b-a1b", {2048, 7168, 32}}};

constexpr ConfigField kLongcat[] = {{"model_type", "longcat_flash"},
                                    {"num_layers", 28},
                                    {"hidden_size", 6144},
                                    {"ffn_hidden_size", 12288},
                                    {"num_attention_heads", 64},
                                    {"q_lora_rank", 1536},
                                    {"kv_lora_rank", 512},
                                    {"qk_nope_head_dim", 128},
                                    {"qk_rope_head_dim", 64},
                                    {"v_head_dim", 128},
                                    {"n_routed_experts", 512},
                                    {"zero_expert_num", 256},
                                    {"moe_topk", 12},
                                    {"expert_ffn_hidden_size", 2048},
                                    {"vocab_size", 131072}};

constexpr PresetRow kLongcatRows[] = {{"longcat-flash", {}}};

constexpr ConfigField kGemma4[] = {
    {"model_type", "gemma4_text"},
    {"head_dim", 256},
    {"global_head_dim", 512},
    {"num_global_key_value_heads", 2},
    {"attention_k_eq_v", true},
    {"enable_moe_block", true},
    {"num_experts", 128},
    {"top_k_experts", 8},
    {"moe_intermediate_size", 704},
    {"sliding_window", 1024},
    {"vocab_size", 262144},
    {"layer_types",
     WordsByLetter{"sliding_attention", "full_attention", "sssssxsssssxsssssxsssssxsssssx"}}};

constexpr PresetRow kGemma4Rows[] = {{"gemma-4-26b-a4b", {30, 2816, 2112, 16, 8}}};

constexpr ConfigField kMiniMax[] = {
    {"model_type", "minimax_text_01"},
    {"head_dim", 128},
    {"num_local_experts", 32},
    {"num_experts_per_tok", 2},
    {"vocab_size", 200064},
    {"layer_types",
     WordsByLetter{
         "linear_attention", "full_attention",
         "sssssssxsssssssxsssssssxsssssssxsssssssxsssssssxsssssssxsssssssxsssssssxsssssssx"}}};

constexpr PresetRow kMiniMaxRows[] = {{"minimax-text-01", {80, 6144, 9216, 64, 8}}};

constexpr PresetTable kMixerTables[] = {
    {kConfigSource, kQwen3Next, kQwenColumns, kQwen3NextRows},
    {kAheadSource, kQwen35, kQwenColumns, kQwen35Rows},
    {kAheadSource, kQwen35Moe, kQwenColumns, kQwen35MoeRows},
    {kAheadSource, kQwen35Large, kQwenColumns, kQwen35LargeRows},
    {kConfigSource, kKimiLinear, kSizes, kKimiLinearRows},
    {kConfigSource, kNemotronH, kHybridColumns, kNemotronHRows},
    {kGatedSource, kNemotronH56, kHybridColumns, kNemotronH56Rows},
    {kConfigSource, kNemotron3Nano, kHybridColumns, kNemotron3NanoRows},
    {kGatedSource, kNemotron3Ultra, kHybridColumns, kNemotron3UltraRows},
    {kConfigSource, kGranite4Dense, kGraniteColumns, kGranite4DenseRows},
    {kConfigSource, kGranite4, kGraniteColumns, kGranite4Rows},
    {kConfigSource, kFalconH1, kGroupedSizes, kFalconH1Rows},
    {kConfigSource, kCodestral, {}, kCodestralRows},
    {kConfigSource, kBamba, kGroupedSizes, kBambaRows},
    {kConfigSource, kJamba, kGroupedSizes, kJambaRows},
    {kConfigSource, kLfm2, kLfmColumns, kLfm2Rows},
    {kConfigSource, kLfm2Large, kLfmColumns, kLfm2LargeRows},
    {kConfigSource, kLfm2Moe, kLfmColumns, kLfm2MoeRows},
    {kConfigSource, kLongcat, {}, kLongcatRows},
    {kConfigSource, kMiniMax, kGroupedSizes, kMiniMaxRows},
    {kGatedSource, kGemma4, kGroupedSizes, kGemma4Rows},
};

}  // namespace

absl::Span<const PresetTable> MixerTables() { return kMixerTables; }

}  // namespace sextant
