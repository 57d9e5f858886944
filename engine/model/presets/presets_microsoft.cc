// Phi.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kMicrosoftLitgptSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied or not: from "
    "memory, fixed by the published count";
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

constexpr PresetTable kMicrosoftTables[] = {
    {kMicrosoftLitgptSource, kPhi, kSizes, kPhiRows},
    {kWindowedSource, kPhi3, kMicrosoftColumns, kPhi3Rows},
    {kWindowedSource, kPhi4Mini, kMicrosoftColumns, kPhi4MiniRows},
    {kPhimoeSource, kPhimoe, kMicrosoftColumns, kPhimoeRows},
};

}  // namespace

absl::Span<const PresetTable> MicrosoftTables() { return kMicrosoftTables; }

}  // namespace sextant
