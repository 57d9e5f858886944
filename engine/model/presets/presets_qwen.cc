// Qwen2.5 and the dense sizes of Qwen3. Mixtures have their own file.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kQwenSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied or not: from "
    "memory, fixed by the published count";

// The small models' vocabulary is padded to 151936 rows, the larger ones' to 152064.
constexpr ConfigField kSmallQwen25[] = {{"model_type", "qwen2"},
                                        {"vocab_size", 151936},
                                        {"num_key_value_heads", 2},
                                        {"tie_word_embeddings", true}};

constexpr PresetRow kSmallQwen25Rows[] = {
    {"qwen2.5-0.5b", {24, 896, 4864, 14}},
    {"qwen2.5-1.5b", {28, 1536, 8960, 12}},
    {"qwen2.5-3b", {36, 2048, 11008, 16}},
};

constexpr ConfigField kQwen25[] = {{"model_type", "qwen2"}, {"vocab_size", 152064}};

constexpr PresetRow kQwen25Rows[] = {
    {"qwen2.5-7b", {28, 3584, 18944, 28, 4}},
    {"qwen2.5-14b", {48, 5120, 13824, 40, 8}},
    {"qwen2.5-32b", {64, 5120, 27648, 40, 8}},
    {"qwen2.5-72b", {80, 8192, 29568, 64, 8}},
};

constexpr ConfigField kSmallQwen3[] = {{"model_type", "qwen3"},
                                       {"vocab_size", 151936},
                                       {"num_key_value_heads", 8},
                                       {"head_dim", 128},
                                       {"tie_word_embeddings", true}};

constexpr PresetRow kSmallQwen3Rows[] = {
    {"qwen3-0.6b", {28, 1024, 3072, 16}},
    {"qwen3-1.7b", {28, 2048, 6144, 16}},
    {"qwen3-4b", {36, 2560, 9728, 32}},
};

constexpr ConfigField kQwen3[] = {
    {"model_type", "qwen3"}, {"vocab_size", 151936}, {"num_key_value_heads", 8}, {"head_dim", 128}};

constexpr PresetRow kQwen3Rows[] = {
    {"qwen3-8b", {36, 4096, 12288, 32}},
    {"qwen3-14b", {40, 5120, 17408, 40}},
    {"qwen3-32b", {64, 5120, 25600, 64}},
};

constexpr PresetTable kQwenTables[] = {
    {kQwenSource, kSmallQwen25, kSizes, kSmallQwen25Rows},
    {kQwenSource, kQwen25, kGroupedSizes, kQwen25Rows},
    {kQwenSource, kSmallQwen3, kSizes, kSmallQwen3Rows},
    {kQwenSource, kQwen3, kSizes, kQwen3Rows},
};

}  // namespace

absl::Span<const PresetTable> QwenTables() { return kQwenTables; }

}  // namespace sextant
