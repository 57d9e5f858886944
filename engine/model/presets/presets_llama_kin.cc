// Decoders in Llama's and Qwen2's form that other organisations trained: Qwen1.5 and Qwen2, Yi,
// CodeLlama, DeepSeek LLM and Coder, InternLM, Baichuan, and DeepSeek-R1's smallest distillation.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr ConfigField kQwen2[] = {{"model_type", "qwen2"}, {"vocab_size", 152064}};
constexpr ConfigField kSmallQwen2[] = {{"model_type", "qwen2"}, {"vocab_size", 151936}};
constexpr ConfigField kTiedQwen2[] = {
    {"model_type", "qwen2"}, {"vocab_size", 151936}, {"tie_word_embeddings", true}};

// The sizes of Qwen2.5 that Qwen2 has too.
constexpr PresetRow kTiedQwen2Rows[] = {
    {"qwen2-0.5b", {24, 896, 4864, 14, 2}},
    {"qwen2-1.5b", {28, 1536, 8960, 12, 2}},
};
constexpr PresetRow kSmallQwen2Rows[] = {
    {"qwen1.5-1.8b", {24, 2048, 5504, 16, 16}},
    {"qwen1.5-4b", {40, 2560, 6912, 20, 20}},
    {"qwen1.5-7b", {32, 4096, 11008, 32, 32}},
    {"deepseek-r1-distill-qwen-1.5b", {28, 1536, 8960, 12, 2}},
};
constexpr PresetRow kQwen2Rows[] = {
    {"qwen1.5-14b", {40, 5120, 13696, 40, 40}}, {"qwen1.5-32b", {64, 5120, 27392, 40, 8}},
    {"qwen1.5-72b", {80, 8192, 24576, 64, 64}}, {"qwen1.5-110b", {80, 8192, 49152, 64, 8}},
    {"qwen2-7b", {28, 3584, 18944, 28, 4}},     {"qwen2-72b", {80, 8192, 29568, 64, 8}},
};

constexpr absl::string_view kSizesAndVocabulary[] = {"num_hidden_layers",   "hidden_size",
                                                     "intermediate_size",   "num_attention_heads",
                                                     "num_key_value_heads", "vocab_size"};

constexpr ConfigField kLlama[] = {{"model_type", "llama"}};

constexpr PresetRow kLlamaRows[] = {
    {"yi-6b", {32, 4096, 11008, 32, 4, 64000}},
    {"yi-9b", {48, 4096, 11008, 32, 4, 64000}},
    {"yi-34b", {60, 7168, 20480, 56, 8, 64000}},
    {"codellama-7b", {32, 4096, 11008, 32, 32, 32016}},
    {"codellama-13b", {40, 5120, 13824, 40, 40, 32016}},
    {"codellama-34b", {48, 8192, 22016, 64, 8, 32000}},
    {"codellama-70b", {80, 8192, 28672, 64, 8, 32016}},
    {"deepseek-llm-7b", {30, 4096, 11008, 32, 32, 102400}},
    {"deepseek-llm-67b", {95, 8192, 22016, 64, 8, 102400}},
    {"deepseek-coder-1.3b", {24, 2048, 5504, 16, 16, 32256}},
    {"deepseek-coder-6.7b", {32, 4096, 11008, 32, 32, 32256}},
    {"deepseek-coder-33b", {62, 7168, 19200, 56, 8, 32256}},
    {"internlm2-1.8b", {24, 2048, 8192, 16, 8, 92544}},
    {"internlm2-7b", {32, 4096, 14336, 32, 8, 92544}},
    {"internlm2-20b", {48, 6144, 16384, 48, 8, 92544}},
    {"baichuan-7b", {32, 4096, 11008, 32, 32, 64000}},
    {"baichuan-13b", {40, 5120, 13696, 40, 40, 64000}},
    {"baichuan2-7b", {32, 4096, 11008, 32, 32, 125696}},
    {"baichuan2-13b", {40, 5120, 13696, 40, 40, 125696}},
};

// With a bias on queries, keys, values and output.
constexpr ConfigField kBiasedLlama[] = {{"model_type", "llama"}, {"attention_bias", true}};
constexpr PresetRow kBiasedLlamaRows[] = {
    {"internlm-7b", {32, 4096, 11008, 32, 32, 103168}},
};

constexpr PresetTable kLlamaKinTables[] = {
    {kConfigSource, kTiedQwen2, kGroupedSizes, kTiedQwen2Rows},
    {kConfigSource, kSmallQwen2, kGroupedSizes, kSmallQwen2Rows},
    {kConfigSource, kQwen2, kGroupedSizes, kQwen2Rows},
    {kConfigSource, kLlama, kSizesAndVocabulary, kLlamaRows},
    {kConfigSource, kBiasedLlama, kSizesAndVocabulary, kBiasedLlamaRows},
};

}  // namespace

absl::Span<const PresetTable> LlamaKinTables() { return kLlamaKinTables; }

}  // namespace sextant
