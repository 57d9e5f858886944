// Gemma 1 to 3, the last as text models. T5 and BERT are with the encoders.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kGoogleSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied: from memory, "
    "fixed by the published count";
constexpr char kGemma2Source[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied: from memory, "
    "fixed by the published count; sliding window: public config.json, from memory";
constexpr char kGemma3Source[] =
    "public config.json, its text_config, from memory, fixed by the published count but for the "
    "sliding window";

constexpr absl::string_view kGoogleColumns[] = {"num_hidden_layers",   "hidden_size",
                                                "intermediate_size",   "num_attention_heads",
                                                "num_key_value_heads", "head_dim"};

constexpr ConfigField kGemma[] = {{"model_type", "gemma"}, {"vocab_size", 256000}};

constexpr PresetRow kGemmaRows[] = {
    {"gemma-2b", {18, 2048, 16384, 8, 1, 256}},
    {"gemma-7b", {28, 3072, 24576, 16, 16, 256}},
};

constexpr ConfigField kGemma2[] = {
    {"model_type", "gemma2"}, {"vocab_size", 256000}, {"sliding_window", 4096}};

constexpr PresetRow kGemma2Rows[] = {
    {"gemma-2-2b", {26, 2304, 9216, 8, 4, 256}},
    {"gemma-2-9b", {42, 3584, 14336, 16, 8, 256}},
    {"gemma-2-27b", {46, 4608, 36864, 32, 16, 128}},
};

constexpr ConfigField kSmallGemma3[] = {{"model_type", "gemma3_text"},
                                        {"vocab_size", 262144},
                                        {"sliding_window", 512},
                                        {"sliding_window_pattern", 6}};

constexpr PresetRow kSmallGemma3Rows[] = {
    {"gemma-3-270m", {18, 640, 2048, 4, 1, 256}},
    {"gemma-3-1b", {26, 1152, 6912, 4, 1, 256}},
};

// The text models have 64 more rows, for images.
constexpr ConfigField kGemma3[] = {{"model_type", "gemma3_text"},
                                   {"vocab_size", 262208},
                                   {"sliding_window", 1024},
                                   {"sliding_window_pattern", 6}};

constexpr PresetRow kGemma3Rows[] = {
    {"gemma-3-4b", {34, 2560, 10240, 8, 4, 256}},
    {"gemma-3-12b", {48, 3840, 15360, 16, 8, 256}},
    {"gemma-3-27b", {62, 5376, 21504, 32, 16, 128}},
};

constexpr PresetTable kGoogleTables[] = {
    {kGoogleSource, kGemma, kGoogleColumns, kGemmaRows},
    {kGemma2Source, kGemma2, kGoogleColumns, kGemma2Rows},
    {kGemma3Source, kSmallGemma3, kGoogleColumns, kSmallGemma3Rows},
    {kGemma3Source, kGemma3, kGoogleColumns, kGemma3Rows},
};

}  // namespace

absl::Span<const PresetTable> GoogleTables() { return kGoogleTables; }

}  // namespace sextant
