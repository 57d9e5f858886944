// GPT-2, GPT-3 and their successors: GPT-Neo and GPT-J.
#include "engine/model/presets/preset_table.h"
#include "engine/model/transformer_spec.h"

namespace sextant {
namespace {

constexpr char kGpt2Source[] = "karpathy/nanoGPT model.py @0011cd444291, GPT.from_pretrained";
constexpr char kGpt3Source[] =
    "Brown et al. 2020 (arXiv 2005.14165) table 2.1, read as transcribed in "
    "dmccreary/gpt-3-demos docs/background.md; vocabulary, positions, tying and biases as "
    "GPT-2's, from memory; every layer attends to all tokens, where the paper's take turns with "
    "sparse ones";
constexpr char kGpt3XlSource[] =
    "Brown et al. 2020 (arXiv 2005.14165) table 2.1, read as transcribed in "
    "dmccreary/gpt-3-demos docs/background.md; kept as printed, although 24 heads of 128 make "
    "3072 where d_model is 2048 and the count exceeds the printed 1.3B: see gpt3-1.3b";
constexpr char kGpt3XlSixteenHeadsSource[] =
    "GPT-3 XL with 16 heads, which with heads of 128 make d_model 2048, as in "
    "saforem2/Megatron-DeepSpeed gpt-sizes.sh; the paper's table 2.1 prints 24 (gpt3-xl)";
constexpr char kGpt3With5120Source[] =
    "Brown et al. 2020 (arXiv 2005.14165) table 2.1, read as transcribed in "
    "dmccreary/gpt-3-demos docs/background.md, but with d_model 5120: the printed 5140 is a "
    "misprint, 40 heads of 128 make 5120, as in saforem2/Megatron-DeepSpeed gpt-sizes.sh";
constexpr char kGptNeoSource[] =
    "public config.json, from memory, fixed by the published count but for the heads";
constexpr char kGptNeo1300mSource[] =
    "printed module tree of GPTNeoForCausalLM (text index id 58887566530); heads from memory";

constexpr absl::string_view kGptColumns[] = {"n_layer", "n_embd", "n_head"};

constexpr ConfigField kGpt2[] = {
    {"model_type", "gpt2"}, {"vocab_size", 50257}, {"n_positions", 1024}};

// Some models have two names.
constexpr PresetRow kGpt2Rows[] = {
    {"gpt2", {12, 768, 12}},        {"gpt2-small", {12, 768, 12}}, {"gpt2-medium", {24, 1024, 16}},
    {"gpt2-large", {36, 1280, 20}}, {"gpt2-xl", {48, 1600, 25}},
};

constexpr ConfigField kGpt3[] = {
    {"model_type", "gpt2"}, {"vocab_size", 50257}, {"n_positions", 2048}};

constexpr PresetRow kGpt3Rows[] = {
    {"gpt3-small", {12, 768, 12}},
    {"gpt3-125m", {12, 768, 12}},
    {"gpt3-medium", {24, 1024, 16}},
    {"gpt3-350m", {24, 1024, 16}},
    {"gpt3-large", {24, 1536, 16}},
    {"gpt3-760m", {24, 1536, 16}},
    {"gpt3-1.3b", {24, 2048, 16}, kGpt3XlSixteenHeadsSource},
    {"gpt3-2.7b", {32, 2560, 32}},
    {"gpt3-6.7b", {32, 4096, 32}},
    {"gpt3-13b", {40, 5120, 40}, kGpt3With5120Source},
    {"gpt3-175b", {96, 12288, 96}},
};

constexpr absl::string_view kGptNeoColumns[] = {"num_layers", "hidden_size", "num_heads"};

// They differ in the number of pairs of a full-attention layer and a window layer.
constexpr ConfigField kGptNeo125m[] = {{"model_type", "gpt_neo"},
                                       {"vocab_size", 50257},
                                       {"max_position_embeddings", 2048},
                                       {"window_size", 256},
                                       {"attention_types", GlobalLocalPairs{6}}};

constexpr PresetRow kGptNeo125mRows[] = {{"gpt-neo-125m", {12, 768, 12}}};

constexpr ConfigField kGptNeo1300m[] = {{"model_type", "gpt_neo"},
                                        {"vocab_size", 50257},
                                        {"max_position_embeddings", 2048},
                                        {"window_size", 256},
                                        {"attention_types", GlobalLocalPairs{12}}};

constexpr PresetRow kGptNeo1300mRows[] = {{"gpt-neo-1.3b", {24, 2048, 16}}};

constexpr ConfigField kGptNeo2700m[] = {{"model_type", "gpt_neo"},
                                        {"vocab_size", 50257},
                                        {"max_position_embeddings", 2048},
                                        {"window_size", 256},
                                        {"attention_types", GlobalLocalPairs{16}}};

constexpr PresetRow kGptNeo2700mRows[] = {{"gpt-neo-2.7b", {32, 2560, 20}}};

constexpr ConfigField kGptj[] = {{"model_type", "gptj"}, {"vocab_size", 50400}};

constexpr PresetRow kGptjRows[] = {{"gpt-j-6b", {28, 4096, 16}}};

constexpr PresetTable kGptTables[] = {
    {kGpt2Source, kGpt2, kGptColumns, kGpt2Rows},
    {kGpt3Source, kGpt3, kGptColumns, kGpt3Rows},
    {kGptNeoSource, kGptNeo125m, kGptNeoColumns, kGptNeo125mRows},
    {kGptNeo1300mSource, kGptNeo1300m, kGptNeoColumns, kGptNeo1300mRows},
    {kGptNeoSource, kGptNeo2700m, kGptNeoColumns, kGptNeo2700mRows},
    {kConfigSource, kGptj, kGptColumns, kGptjRows},
};

}  // namespace

absl::Span<const PresetTable> GptTables() { return kGptTables; }

ModelPreset Gpt3Xl() {
  constexpr TransformerSpec kSpec = {.layer_count = 24,
                                     .hidden_size = 2048,
                                     .feed_forward_size = 8192,
                                     .attention_head_count = 24,
                                     .head_size = 128,
                                     .vocabulary_size = 50257,
                                     .tied_embeddings = true,
                                     .learned_position_count = 2048,
                                     .feed_forward_kind = FeedForwardKind::kPlain,
                                     .norm_kind = NormKind::kLayerNorm,
                                     .query_key_value_bias = true,
                                     .attention_output_bias = true,
                                     .feed_forward_bias = true};
  return {.name = "gpt3-xl", .source = kGpt3XlSource, .architecture = DenseDecoder(kSpec)};
}

}  // namespace sextant
