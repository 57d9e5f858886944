// OLMo, Pythia, GPT-NeoX, OPT, StarCoder, StableLM and Granite.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kOpenLitgptSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied or not: from "
    "memory, fixed by the published count";
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
constexpr char kOpenConfigSource[] =
    "public config.json, from memory, fixed by the published count";
constexpr char kOlmo3Source[] =
    "public config.json, from memory, fixed by the published count but for the sliding window";

constexpr char kStablelm2Source[] =
    "sizes quoted in public text (text index id 35661935992): only queries, keys and values have "
    "biases";
constexpr char kLargeStablelm2Source[] =
    "the model's page (text index id 13733735924) but for the feed-forward's size, which is from "
    "memory, fixed by the checkpoint's count. Against the page, transformers and the checkpoint "
    "hold biases of norms; the page's own count is 41 x 10,240 more";

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

constexpr PresetTable kOpenTables[] = {
    {kOpenLitgptSource, kSmallOlmo, kSizes, kSmallOlmoRows},
    {kOpenLitgptSource, kOlmo, kSizes, kOlmoRows},
    {kOpenLitgptSource, kOlmo2, kGroupedSizes, kOlmo2Rows},
    {kOlmo3Source, kOlmo3, kGroupedSizes, kOlmo3Rows},
    {kOpenLitgptSource, kNeox, kNeoxColumns, kNeoxRows},
    {kOptSource, kOpt, kOptColumns, kOptRows},
    {kOpt350mSource, kOpt350m, kOptColumns, kOpt350mRows},
    {kStarcoder2Source, kStarcoder2, kGroupedSizes, kStarcoder2Rows},
    {kStarcoder2Source, kLargeStarcoder2, kGroupedSizes, kLargeStarcoder2Rows},
    {kOpenConfigSource, kStablelm, kGroupedSizes, kStablelmRows},
    {kStablelm2Source, kStablelm2, kGroupedSizes, kStablelm2Rows},
    {kLargeStablelm2Source, kLargeStablelm2, kGroupedSizes, kLargeStablelm2Rows},
    {kOpenConfigSource, kGranite, kGroupedSizes, kGraniteRows},
};

}  // namespace

absl::Span<const PresetTable> OpenTables() { return kOpenTables; }

}  // namespace sextant
