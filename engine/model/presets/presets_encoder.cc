// BERT and T5.
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr char kBertSource[] =
    "public config.json, with the masked-token head that its architectures name, from memory, "
    "fixed by the published count";
constexpr char kCasedSource[] =
    "public config.json, with the masked-token head that its architectures name, from memory; the "
    "same model without its head has the published count";

constexpr ConfigField kBert[] = {{"model_type", "bert"},
                                 {"architectures", OneName{"BertForMaskedLM"}},
                                 {"max_position_embeddings", 512},
                                 {"type_vocab_size", 2}};

constexpr absl::string_view kBertColumns[] = {"vocab_size", "num_hidden_layers", "hidden_size",
                                              "intermediate_size", "num_attention_heads"};

constexpr PresetRow kBertRows[] = {
    {"bert-base-uncased", {30522, 12, 768, 3072, 12}},
    {"bert-large-uncased", {30522, 24, 1024, 4096, 16}},
    {"bert-base-cased", {28996, 12, 768, 3072, 12}, kCasedSource},
    {"bert-large-cased", {28996, 24, 1024, 4096, 16}, kCasedSource},
};

constexpr absl::string_view kT5Columns[] = {"num_layers", "d_model", "d_kv", "d_ff", "num_heads"};

constexpr ConfigField kT5[] = {{"model_type", "t5"}, {"vocab_size", 32128}};

constexpr PresetRow kT5Rows[] = {
    {"t5-small", {6, 512, 64, 2048, 8}},     {"t5-base", {12, 768, 64, 3072, 12}},
    {"t5-large", {24, 1024, 64, 4096, 16}},  {"t5-3b", {24, 1024, 128, 16384, 32}},
    {"t5-11b", {24, 1024, 128, 65536, 128}},
};

// T5 version 1.1 and Flan-T5.
constexpr ConfigField kGatedT5[] = {{"model_type", "t5"},
                                    {"vocab_size", 32128},
                                    {"feed_forward_proj", "gated-gelu"},
                                    {"tie_word_embeddings", false}};

constexpr PresetRow kGatedT5Rows[] = {
    {"t5-v1.1-small", {8, 512, 64, 1024, 6}},    {"t5-v1.1-base", {12, 768, 64, 2048, 12}},
    {"t5-v1.1-large", {24, 1024, 64, 2816, 16}}, {"t5-v1.1-xl", {24, 2048, 64, 5120, 32}},
    {"t5-v1.1-xxl", {24, 4096, 64, 10240, 64}},  {"flan-t5-small", {8, 512, 64, 1024, 6}},
    {"flan-t5-base", {12, 768, 64, 2048, 12}},   {"flan-t5-large", {24, 1024, 64, 2816, 16}},
    {"flan-t5-xl", {24, 2048, 64, 5120, 32}},    {"flan-t5-xxl", {24, 4096, 64, 10240, 64}},
};

constexpr PresetTable kEncoderTables[] = {
    {kBertSource, kBert, kBertColumns, kBertRows},
    {kConfigSource, kT5, kT5Columns, kT5Rows},
    {kConfigSource, kGatedT5, kT5Columns, kGatedT5Rows},
};

}  // namespace

absl::Span<const PresetTable> EncoderTables() { return kEncoderTables; }

}  // namespace sextant
