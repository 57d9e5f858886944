// BLOOM, MPT, Falcon and Command R.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kOtherConfigSource[] =
    "public config.json, from memory, fixed by the published count";
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
    {kOtherConfigSource, kBloom, kBloomColumns, kBloomRows},
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
