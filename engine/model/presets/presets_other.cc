// The other decoders: Phi, OLMo, Pythia, GPT-NeoX, OPT, StarCoder, StableLM, Granite, BLOOM, MPT,
// Falcon and Command R.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kPhi1Source[] =
    "kyegomez/phi-1 README.md, which quotes the paper (24 layers, 2048, 8192, heads of 64); "
    "vocabulary, norms and biases as phi-1.5's, from memory";
constexpr char kWindowedSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied or not: from "
    "memory, fixed by the published count; sliding window: public config.json, from memory";
constexpr char kPhi3MediumSource[] =
    "public config.json, from memory; total checked against a published count, the sliding window "
    "is not";
constexpr char kPhimoeSource[] =
    "public config.json, from memory; that its total is the published one: from memory";
constexpr char kOlmoCoreSource[] =
    "allenai/OLMo-core src/olmo_core/nn/transformer/config.py @004aefffd1e8, olmo2_1B_v2 and "
    "olmo2_32B; vocabulary as the 7B's, total checked against the published count";
constexpr char kNeoxSource[] =
    "EleutherAI/gpt-neox configs/20B.yml @252ddc522fba; padded vocabulary 50432 from memory, "
    "fixed by the published count";
constexpr char kOptSource[] =
    "FMInference/FlexiGen flexgen/opt_config.py @1b9e9bd06a98 (layers, sizes, heads, "
    "vocabulary); 2048 positions, tying and biases from memory";
constexpr char kOpt350mSource[] =
    "printed module tree of OPTForCausalLM in if001/alpaca-lora gomi.md: 512-wide embeddings "
    "with projections, no final norm";
constexpr char kStarcoder2Source[] =
    "public config.json, from memory; tied because that gives the published count, so the "
    "count is not an independent check";
constexpr char kOlmo3Source[] =
    "public config.json, from memory, fixed by the published count but for the sliding window";
constexpr char kStablelm2Source[] =
    "sizes quoted in public text (text index id 35661935992): only queries, keys and values have "
    "biases";
constexpr char kLargeStablelm2Source[] =
    "the model's page (text index id 13733735924) but for the feed-forward's size, which is from "
    "memory, fixed by the checkpoint's count. Against the page, transformers and the checkpoint "
    "hold biases of norms; the page's own count is 41 x 10,240 more";
constexpr char kHandSource[] = "public config.json, from memory; total counted by hand";
constexpr char kFalconSource[] =
    "public config.json, from memory; the published count holds a head of its own, and is that of "
    "the tied model beyond it";
constexpr char kCohere2Source[] =
    "public config.json, from memory, fixed by the published count of a model of its shape "
    "(aya-expanse-8b) but for the sliding window";
constexpr char kMptConfigSource[] =
    "public config.json, in mpt_topology's page (text index id 40807555979)";
constexpr char kMpt1bSource[] =
    "mosaicml/llm-foundry scripts/train/yamls/pretrain/mpt-1b.yaml @06560d59cb6e; learned "
    "positions, biases and tying are MPT's defaults, from memory, fixed by the published count";
constexpr char kMpt7bSource[] =
    "mosaicml/llm-foundry scripts/train/yamls/pretrain/mpt-7b.yaml @15fb4ffaa6fb; learned "
    "positions, biases and tying are MPT's defaults, from memory, fixed by the published count; "
    "the released checkpoint mpt-7b has another shape";

constexpr ConfigField kPhi[] = {{"model_type", "phi"}, {"vocab_size", 51200}};

constexpr PresetRow kPhiRows[] = {
    {"phi-1", {24, 2048, 8192, 32}, kPhi1Source},
    {"phi-1.5", {24, 2048, 8192, 32}},
    {"phi-2", {32, 2560, 10240, 32}},
};

constexpr absl::string_view kMicrosoftColumns[] = {
    "vocab_size",          "num_hidden_layers",   "hidden_size",   "intermediate_size",
    "num_attention_heads", "num_key_value_heads", "sliding_window"};

constexpr ConfigField kPhi3[] = {{"model_type", "phi3"}};

// Phi-3 medium and Phi-4 differ only in their vocabularies.
constexpr PresetRow kPhi3Rows[] = {
    {"phi-3-mini-4k", {32064, 32, 3072, 8192, 32, 32, 2047}},
    {"phi-3-mini-128k", {32064, 32, 3072, 8192, 32, 32, 262144}},
    {"phi-3.5-mini", {32064, 32, 3072, 8192, 32, 32, 262144}},
    {"phi-3-medium", {32064, 40, 5120, 17920, 40, 10, 2047}, kPhi3MediumSource},
    {"phi-3-medium-4k", {32064, 40, 5120, 17920, 40, 10, 2047}, kPhi3MediumSource},
    {"phi-4", {100352, 40, 5120, 17920, 40, 10}},
};

constexpr ConfigField kPhi4Mini[] = {{"model_type", "phi3"}, {"tie_word_embeddings", true}};

constexpr PresetRow kPhi4MiniRows[] = {{"phi-4-mini", {200064, 32, 3072, 8192, 24, 8, 262144}}};

constexpr ConfigField kPhimoe[] = {{"model_type", "phimoe"},
                                   {"num_local_experts", 16},
                                   {"num_experts_per_tok", 2},
                                   {"attention_bias", true},
                                   {"lm_head_bias", true}};

constexpr PresetRow kPhimoeRows[] = {{"phi-3.5-moe", {32064, 32, 4096, 6400, 32, 8, 131072}}};

constexpr ConfigField kSmallOlmo[] = {
    {"model_type", "olmo"}, {"vocab_size", 50304}, {"tie_word_embeddings", true}};

constexpr PresetRow kSmallOlmoRows[] = {{"olmo-1b", {16, 2048, 8192, 16}}};

constexpr ConfigField kOlmo[] = {{"model_type", "olmo"}, {"vocab_size", 50304}};

constexpr PresetRow kOlmoRows[] = {{"olmo-7b", {32, 4096, 11008, 32}}};

constexpr ConfigField kOlmo2[] = {{"model_type", "olmo2"}, {"vocab_size", 100352}};

constexpr PresetRow kOlmo2Rows[] = {
    {"olmo-2-1b", {16, 2048, 8192, 16, 16}, kOlmoCoreSource},
    {"olmo-2-7b", {32, 4096, 11008, 32, 32}},
    {"olmo-2-13b", {40, 5120, 13824, 40, 40}},
    {"olmo-2-32b", {64, 5120, 27648, 40, 8}, kOlmoCoreSource},
};

constexpr ConfigField kOlmo3[] = {
    {"model_type", "olmo3"}, {"vocab_size", 100278}, {"sliding_window", 4096}};

constexpr PresetRow kOlmo3Rows[] = {{"olmo-3-7b", {32, 4096, 11008, 32, 32}}};

// The vocabulary as the checkpoint pads it.
constexpr ConfigField kNeox[] = {{"model_type", "gpt_neox"}};

constexpr absl::string_view kNeoxColumns[] = {"vocab_size", "num_hidden_layers", "hidden_size",
                                              "intermediate_size", "num_attention_heads"};

constexpr PresetRow kNeoxRows[] = {
    {"pythia-14m", {50304, 6, 128, 512, 4}},
    {"pythia-31m", {50304, 6, 256, 1024, 8}},
    {"pythia-70m", {50304, 6, 512, 2048, 8}},
    {"pythia-160m", {50304, 12, 768, 3072, 12}},
    {"pythia-410m", {50304, 24, 1024, 4096, 16}},
    {"pythia-1b", {50304, 16, 2048, 8192, 8}},
    {"pythia-1.4b", {50304, 24, 2048, 8192, 16}},
    {"pythia-2.8b", {50304, 32, 2560, 10240, 32}},
    {"pythia-6.9b", {50432, 32, 4096, 16384, 32}},
    {"pythia-12b", {50688, 36, 5120, 20480, 40}},
    {"gpt-neox-20b", {50432, 44, 6144, 24576, 64}, kNeoxSource},
};

constexpr ConfigField kOpt[] = {
    {"model_type", "opt"}, {"vocab_size", 50272}, {"max_position_embeddings", 2048}};

constexpr absl::string_view kOptColumns[] = {"num_hidden_layers", "hidden_size", "ffn_dim",
                                             "num_attention_heads"};

constexpr PresetRow kOptRows[] = {
    {"opt-125m", {12, 768, 3072, 12}},   {"opt-1.3b", {24, 2048, 8192, 32}},
    {"opt-2.7b", {32, 2560, 10240, 32}}, {"opt-6.7b", {32, 4096, 16384, 32}},
    {"opt-13b", {40, 5120, 20480, 40}},  {"opt-30b", {48, 7168, 28672, 56}},
    {"opt-66b", {64, 9216, 36864, 72}},  {"opt-175b", {96, 12288, 49152, 96}},
};

// Unique in its family: narrow embeddings, and norms after the sublayers, so none at the end.
constexpr ConfigField kOpt350m[] = {{"model_type", "opt"},
                                    {"vocab_size", 50272},
                                    {"max_position_embeddings", 2048},
                                    {"word_embed_proj_dim", 512},
                                    {"do_layer_norm_before", false}};

constexpr PresetRow kOpt350mRows[] = {{"opt-350m", {24, 1024, 4096, 16}}};

constexpr ConfigField kStarcoder2[] = {
    {"model_type", "starcoder2"}, {"vocab_size", 49152}, {"sliding_window", 4096}};

constexpr PresetRow kStarcoder2Rows[] = {
    {"starcoder2-3b", {30, 3072, 12288, 24, 2}},
    {"starcoder2-7b", {32, 4608, 18432, 36, 4}},
};

constexpr ConfigField kLargeStarcoder2[] = {{"model_type", "starcoder2"},
                                            {"vocab_size", 49152},
                                            {"sliding_window", 4096},
                                            {"tie_word_embeddings", false}};

constexpr PresetRow kLargeStarcoder2Rows[] = {{"starcoder2-15b", {40, 6144, 24576, 48, 4}}};

constexpr ConfigField kStablelm[] = {{"model_type", "stablelm"}, {"vocab_size", 50304}};

constexpr PresetRow kStablelmRows[] = {{"stablelm-3b-4e1t", {32, 2560, 6912, 32, 32}}};

constexpr ConfigField kStablelm2[] = {
    {"model_type", "stablelm"}, {"vocab_size", 100352}, {"use_qkv_bias", true}};

constexpr PresetRow kStablelm2Rows[] = {{"stablelm-2-1.6b", {24, 2048, 5632, 32, 32}}};

constexpr ConfigField kLargeStablelm2[] = {{"model_type", "stablelm"},
                                           {"vocab_size", 100352},
                                           {"use_parallel_residual", true},
                                           {"qk_layernorm", true}};

constexpr PresetRow kLargeStablelm2Rows[] = {{"stablelm-2-12b", {40, 5120, 13824, 32, 8}}};

constexpr ConfigField kGranite[] = {
    {"model_type", "granite"}, {"vocab_size", 49155}, {"tie_word_embeddings", true}};

constexpr PresetRow kGraniteRows[] = {{"granite-3.1-2b", {40, 2048, 8192, 32, 8}}};

constexpr ConfigField kPowerLm[] = {
    {"model_type", "granite"}, {"vocab_size", 49152}, {"tie_word_embeddings", true}};

constexpr PresetRow kPowerLmRows[] = {{"powerlm-3b", {40, 2304, 9216, 36, 36}}};

constexpr ConfigField kBloom[] = {{"model_type", "bloom"}, {"vocab_size", 250880}};

constexpr absl::string_view kBloomColumns[] = {"n_layer", "hidden_size", "n_head"};

constexpr PresetRow kBloomRows[] = {
    {"bloom-560m", {24, 1024, 16}}, {"bloom-1b1", {24, 1536, 16}}, {"bloom-1b7", {24, 2048, 16}},
    {"bloom-3b", {30, 2560, 32}},   {"bloom-7b1", {30, 4096, 32}}, {"bloom-176b", {70, 14336, 112}},
};

// The two released models: attention is biased by distance, and nothing else has a bias.
constexpr ConfigField kMpt[] = {{"model_type", "mpt"},
                                {"vocab_size", 50432},
                                {"expansion_ratio", 4},
                                {"no_bias", true},
                                {"attn_config.alibi", true}};

constexpr absl::string_view kMptColumns[] = {"n_layers", "d_model", "n_heads"};

constexpr PresetRow kMptRows[] = {
    {"mpt-7b", {32, 4096, 32}, kMptConfigSource},
    {"mpt-30b", {48, 7168, 64}},
};

constexpr ConfigField kFoundryMpt[] = {{"model_type", "mpt"},       {"vocab_size", 50368},
                                       {"expansion_ratio", 4},      {"max_seq_len", 2048},
                                       {"no_bias", false},          {"learned_pos_emb", true},
                                       {"attn_config.alibi", false}};

constexpr PresetRow kFoundryMptRows[] = {
    {"llm-foundry-mpt-1b", {24, 2048, 16}, kMpt1bSource},
    {"llm-foundry-mpt-7b", {32, 4096, 32}, kMpt7bSource},
};

constexpr absl::string_view kFalconColumns[] = {"num_hidden_layers", "hidden_size",
                                                "num_attention_heads", "num_kv_heads"};

constexpr ConfigField kOldFalcon[] = {{"model_type", "falcon"}, {"vocab_size", 65024},
                                      {"multi_query", true},    {"new_decoder_architecture", false},
                                      {"parallel_attn", true},  {"bias", false}};

constexpr PresetRow kOldFalconRows[] = {{"falcon-7b", {32, 4544, 71}}};

constexpr ConfigField kFalcon[] = {{"model_type", "falcon"},
                                   {"vocab_size", 65024},
                                   {"new_decoder_architecture", true},
                                   {"bias", false}};

constexpr PresetRow kFalconRows[] = {
    {"falcon-40b", {60, 8192, 128, 8}},
    {"falcon-180b", {80, 14848, 232, 8}},
};

constexpr ConfigField kCommandR[] = {
    {"model_type", "cohere"}, {"vocab_size", 256000}, {"use_qk_norm", false}};

constexpr PresetRow kCommandRRows[] = {{"command-r", {40, 8192, 22528, 64, 64}}};

constexpr ConfigField kCommandRPlus[] = {
    {"model_type", "cohere"}, {"vocab_size", 256000}, {"use_qk_norm", true}};

constexpr PresetRow kCommandRPlusRows[] = {{"command-r-plus", {64, 12288, 33792, 96, 8}}};

constexpr ConfigField kCohere2[] = {{"model_type", "cohere2"},
                                    {"vocab_size", 256000},
                                    {"sliding_window", 4096},
                                    {"sliding_window_pattern", 4}};

constexpr PresetRow kCohere2Rows[] = {{"command-r7b", {32, 4096, 14336, 32, 8}}};

constexpr PresetTable kOtherTables[] = {
    {kLitgptSource, kPhi, kSizes, kPhiRows},
    {kWindowedSource, kPhi3, kMicrosoftColumns, kPhi3Rows},
    {kWindowedSource, kPhi4Mini, kMicrosoftColumns, kPhi4MiniRows},
    {kPhimoeSource, kPhimoe, kMicrosoftColumns, kPhimoeRows},
    {kLitgptSource, kSmallOlmo, kSizes, kSmallOlmoRows},
    {kLitgptSource, kOlmo, kSizes, kOlmoRows},
    {kLitgptSource, kOlmo2, kGroupedSizes, kOlmo2Rows},
    {kOlmo3Source, kOlmo3, kGroupedSizes, kOlmo3Rows},
    {kLitgptSource, kNeox, kNeoxColumns, kNeoxRows},
    {kOptSource, kOpt, kOptColumns, kOptRows},
    {kOpt350mSource, kOpt350m, kOptColumns, kOpt350mRows},
    {kStarcoder2Source, kStarcoder2, kGroupedSizes, kStarcoder2Rows},
    {kStarcoder2Source, kLargeStarcoder2, kGroupedSizes, kLargeStarcoder2Rows},
    {kConfigSource, kStablelm, kGroupedSizes, kStablelmRows},
    {kStablelm2Source, kStablelm2, kGroupedSizes, kStablelm2Rows},
    {kLargeStablelm2Source, kLargeStablelm2, kGroupedSizes, kLargeStablelm2Rows},
    {kConfigSource, kGranite, kGroupedSizes, kGraniteRows},
    {kConfigSource, kPowerLm, kGroupedSizes, kPowerLmRows},
    {kConfigSource, kBloom, kBloomColumns, kBloomRows},
    {kHandSource, kMpt, kMptColumns, kMptRows},
    {kMpt1bSource, kFoundryMpt, kMptColumns, kFoundryMptRows},
    {kFalconSource, kOldFalcon, kFalconColumns, kOldFalconRows},
    {kFalconSource, kFalcon, kFalconColumns, kFalconRows},
    {kHandSource, kCommandR, kGroupedSizes, kCommandRRows},
    {kHandSource, kCommandRPlus, kGroupedSizes, kCommandRPlusRows},
    {kCohere2Source, kCohere2, kGroupedSizes, kCohere2Rows},
};

}  // namespace

absl::Span<const PresetTable> OtherTables() { return kOtherTables; }

}  // namespace sextant
