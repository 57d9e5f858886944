// Llama 1 to 3.3, and decoders of its kind: TinyLlama, SmolLM, Mistral, Qwen2.5, the dense sizes of
// Qwen3, and Gemma 1 to 3, the last as text models. Llama 4 is with the mixtures.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kLlama1Source[] =
    "Lightning-AI/lit-llama lit_llama/model.py @06dbda9f9ac8: llama_configs, and the "
    "feed-forward size by its rule";
constexpr char kLlamaLitgptSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; not tied: from memory, "
    "fixed by the published count";
constexpr char kLitgptTiedSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied: from memory, "
    "fixed by the published count";
constexpr char kMistralSource[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; not tied: from memory, "
    "fixed by the published count; sliding window: public config.json, from memory";
constexpr char kGemma2Source[] =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied: from memory, "
    "fixed by the published count; sliding window: public config.json, from memory";
constexpr char kGemma3Source[] =
    "public config.json, its text_config, from memory, fixed by the published count but for the "
    "sliding window";

constexpr ConfigField kLlama2[] = {{"model_type", "llama"}, {"vocab_size", 32000}};

// With and without the version number. The paper's 33B is called 30B by its checkpoint.
constexpr PresetRow kLlama1Rows[] = {
    {"llama-7b", {32, 4096, 11008, 32}},    {"llama-1-7b", {32, 4096, 11008, 32}},
    {"llama-13b", {40, 5120, 13824, 40}},   {"llama-1-13b", {40, 5120, 13824, 40}},
    {"llama-30b", {60, 6656, 17920, 52}},   {"llama-33b", {60, 6656, 17920, 52}},
    {"llama-1-33b", {60, 6656, 17920, 52}}, {"llama-65b", {80, 8192, 22016, 64}},
    {"llama-1-65b", {80, 8192, 22016, 64}},
};

constexpr PresetRow kLlama2Rows[] = {
    {"llama-2-7b", {32, 4096, 11008, 32, 32}},
    {"llama-2-13b", {40, 5120, 13824, 40, 40}},
    {"llama-2-70b", {80, 8192, 28672, 64, 8}},
    {"tinyllama-1.1b", {22, 2048, 5632, 32, 4}},
};

constexpr ConfigField kLlama3[] = {
    {"model_type", "llama"}, {"vocab_size", 128256}, {"num_key_value_heads", 8}};

constexpr PresetRow kLlama3Rows[] = {
    {"llama-3-8b", {32, 4096, 14336, 32}},        {"llama-3-70b", {80, 8192, 28672, 64}},
    {"llama-3.1-8b", {32, 4096, 14336, 32}},      {"llama-3.1-70b", {80, 8192, 28672, 64}},
    {"llama-3.1-405b", {126, 16384, 53248, 128}}, {"llama-3.3-70b", {80, 8192, 28672, 64}},
};

constexpr ConfigField kSmallLlama3[] = {{"model_type", "llama"},
                                        {"vocab_size", 128256},
                                        {"num_key_value_heads", 8},
                                        {"tie_word_embeddings", true}};

constexpr PresetRow kSmallLlama3Rows[] = {
    {"llama-3.2-1b", {16, 2048, 8192, 32}},
    {"llama-3.2-3b", {28, 3072, 8192, 24}},
};

constexpr ConfigField kSmolLm2[] = {
    {"model_type", "llama"}, {"vocab_size", 49152}, {"tie_word_embeddings", true}};

constexpr PresetRow kSmolLm2Rows[] = {
    {"smollm2-135m", {30, 576, 1536, 9, 3}},
    {"smollm2-360m", {32, 960, 2560, 15, 5}},
    {"smollm2-1.7b", {24, 2048, 8192, 32, 32}},
};

constexpr ConfigField kSmolLm3[] = {{"model_type", "smollm3"}, {"vocab_size", 128256}};

constexpr PresetRow kSmolLm3Rows[] = {{"smollm3-3b", {36, 2048, 11008, 16, 4}}};

constexpr ConfigField kWindowedMistral[] = {{"model_type", "mistral"}, {"sliding_window", 4096}};

constexpr ConfigField kMistral[] = {{"model_type", "mistral"}, {"sliding_window", nullptr}};

constexpr absl::string_view kMistralColumns[] = {
    "vocab_size",          "num_hidden_layers",   "hidden_size", "intermediate_size",
    "num_attention_heads", "num_key_value_heads", "head_dim"};

constexpr PresetRow kWindowedMistralRows[] = {{"mistral-7b-v0.1", {32000, 32, 4096, 14336, 32, 8}}};

constexpr PresetRow kMistralRows[] = {
    {"mistral-7b-v0.2", {32000, 32, 4096, 14336, 32, 8}},
    {"mistral-7b-v0.3", {32768, 32, 4096, 14336, 32, 8}},
    {"mistral-nemo-12b", {131072, 40, 5120, 14336, 32, 8, 128}, kConfigSource},
    {"mistral-small-24b", {131072, 40, 5120, 32768, 32, 8, 128}, kConfigSource},
    {"mistral-large-2", {32768, 88, 12288, 28672, 96, 8}, kConfigSource},
};

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

constexpr PresetTable kLlamaTables[] = {
    {kLlama1Source, kLlama2, kSizes, kLlama1Rows},
    {kLlamaLitgptSource, kLlama2, kGroupedSizes, kLlama2Rows},
    {kLlamaLitgptSource, kLlama3, kSizes, kLlama3Rows},
    {kLitgptTiedSource, kSmallLlama3, kSizes, kSmallLlama3Rows},
    {kConfigSource, kSmolLm2, kGroupedSizes, kSmolLm2Rows},
    {kConfigSource, kSmolLm3, kGroupedSizes, kSmolLm3Rows},
    {kMistralSource, kWindowedMistral, kMistralColumns, kWindowedMistralRows},
    {kMistralSource, kMistral, kMistralColumns, kMistralRows},
    {kLitgptSource, kSmallQwen25, kSizes, kSmallQwen25Rows},
    {kLitgptSource, kQwen25, kGroupedSizes, kQwen25Rows},
    {kLitgptSource, kSmallQwen3, kSizes, kSmallQwen3Rows},
    {kLitgptSource, kQwen3, kSizes, kQwen3Rows},
    {kLitgptTiedSource, kGemma, kGoogleColumns, kGemmaRows},
    {kGemma2Source, kGemma2, kGoogleColumns, kGemma2Rows},
    {kGemma3Source, kSmallGemma3, kGoogleColumns, kSmallGemma3Rows},
    {kGemma3Source, kGemma3, kGoogleColumns, kGemma3Rows},
};

}  // namespace

absl::Span<const PresetTable> LlamaTables() { return kLlamaTables; }

}  // namespace sextant
