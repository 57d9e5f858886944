// Llama 1 to 3.3, TinyLlama, SmolLM and Mistral. Llama 4 is with the mixtures.
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
constexpr char kLlamaConfigSource[] =
    "public config.json, from memory, fixed by the published count";

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
    {"mistral-nemo-12b", {131072, 40, 5120, 14336, 32, 8, 128}, kLlamaConfigSource},
    {"mistral-small-24b", {131072, 40, 5120, 32768, 32, 8, 128}, kLlamaConfigSource},
    {"mistral-large-2", {32768, 88, 12288, 28672, 96, 8}, kLlamaConfigSource},
};

constexpr PresetTable kLlamaTables[] = {
    {kLlama1Source, kLlama2, kSizes, kLlama1Rows},
    {kLlamaLitgptSource, kLlama2, kGroupedSizes, kLlama2Rows},
    {kLlamaLitgptSource, kLlama3, kSizes, kLlama3Rows},
    {kLitgptTiedSource, kSmallLlama3, kSizes, kSmallLlama3Rows},
    {kLlamaConfigSource, kSmolLm2, kGroupedSizes, kSmolLm2Rows},
    {kLlamaConfigSource, kSmolLm3, kGroupedSizes, kSmolLm3Rows},
    {kMistralSource, kWindowedMistral, kMistralColumns, kWindowedMistralRows},
    {kMistralSource, kMistral, kMistralColumns, kMistralRows},
};

}  // namespace

absl::Span<const PresetTable> LlamaTables() { return kLlamaTables; }

}  // namespace sextant
