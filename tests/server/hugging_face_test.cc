// Texts that are not a config.json of a supported model: each is refused with the invalid field and
// advice, and nothing crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/model/architecture/count_weights.h"
#include "server/convert/config_text.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kPath[] = "model.hugging_face_config";

constexpr char kLlama[] =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 10,
        "intermediate_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2,
        "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "eos_token_id": [1, 2]})";

// kLlama with `value` as the value of `field`, replaced or added.
std::string LlamaWith(const std::string& field, const std::string& value) {
  nlohmann::json config = nlohmann::json::parse(kLlama);
  config[field] = "PLACE";
  return absl::StrReplaceAll(config.dump(), {{"\"PLACE\"", value}});
}

std::string Nested(int depth) {
  return absl::StrCat(R"({"a": )", std::string(static_cast<size_t>(depth), '['),
                      std::string(static_cast<size_t>(depth), ']'), "}");
}

std::string ManyFields(int count) {
  std::string out = R"({"model_type": "llama")";
  for (int i = 1; i < count; ++i) absl::StrAppend(&out, ", \"f", i, "\": 0");
  return out + "}";
}

// A violation of kPath itself, or of `field` below it, whose description contains `words`.
struct RefusedCase {
  const char* name;
  std::string text;
  const char* field;
  const char* words;
};

class HuggingFaceRefusals : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(HuggingFaceRefusals, NameTheFieldAndTheRemedy) {
  const RefusedCase& c = GetParam();
  const absl::Status status = ReadHuggingFaceConfig(c.text).status();
  EXPECT_THAT(status, NamesFields(ElementsAre(FieldPath(kPath, c.field))));
  EXPECT_THAT(std::string(status.message()), HasSubstr(c.words));
}

const auto kName = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Texts, HuggingFaceRefusals,
    ::testing::Values(
        RefusedCase{"Empty", "", "", "is empty"},
        RefusedCase{"Blank", " \n", "", "line 2, column 1"},
        RefusedCase{"Array", "[1, 2]", "", "must be a JSON object"},
        RefusedCase{"Text", R"("llama")", "", "not \"llama\""},
        RefusedCase{"Number", "7", "", "not 7"},
        RefusedCase{"NoJson", "model_type: llama", "", "line 1, column 1"},
        RefusedCase{"Truncated", R"({"model_type": "llama",)", "", "unexpected end of input"},
        RefusedCase{"OpenText", R"({"model_type": "lla)", "", "missing closing quote"},
        RefusedCase{"Trailing", absl::StrCat(kLlama, "}"), "", "expected end of input"},
        RefusedCase{"TwoObjects", absl::StrCat(kLlama, kLlama), "", "expected end of input"},
        RefusedCase{"NotANumber", LlamaWith("rms_norm_eps", "NaN"), "", "invalid literal"},
        RefusedCase{"Infinite", LlamaWith("rms_norm_eps", "-Infinity"), "", "not valid JSON"},
        RefusedCase{"Overflow", LlamaWith("rms_norm_eps", "1e999"), "", "number overflow"},
        RefusedCase{"Comment", LlamaWith("a", "1 /* one */"), "", "not valid JSON"},
        RefusedCase{"NotUtf8", "{\"model_type\": \"\xff\xfe\"}", "", "ill-formed UTF-8"},
        RefusedCase{"Utf16", std::string("\xff\xfe{\0}\0", 6), "", "not valid JSON"},
        RefusedCase{"Nul", std::string("{\0}", 3), "", "not valid JSON"},
        RefusedCase{"Deep", Nested(64), "", "nested deeper than 64"},
        RefusedCase{"VeryDeep", Nested(10'000), "", "nested deeper than 64"},
        RefusedCase{"DeepAndOpen", absl::StrCat("{\"a\": ", std::string(60'000, '[')), "",
                    "nested deeper"},
        RefusedCase{"DeepObjects",
                    [] {
                      std::string out;
                      for (int i = 0; i < 10'000; ++i) out += "{\"a\":";
                      return out;
                    }(),
                    "", "nested deeper than 64"},
        RefusedCase{"Long", LlamaWith("a", absl::StrCat("\"", std::string(64 * 1024, 'x'), "\"")),
                    "", "more than 65536 (64 KiB)"},
        RefusedCase{"ManyFields", ManyFields(1001), "", "more than 1000 fields"},
        RefusedCase{"Twice", R"({"model_type": "llama", "hidden_size": 8, "hidden_size": 9})",
                    "hidden_size", "is given twice"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Sizes, HuggingFaceRefusals,
    ::testing::Values(
        RefusedCase{"Quoted", LlamaWith("hidden_size", R"("32")"), "hidden_size",
                    "write 32 without quotes"},
        RefusedCase{"Word", LlamaWith("hidden_size", R"("wide")"), "hidden_size", "not \"wide\""},
        RefusedCase{"Fraction", LlamaWith("num_hidden_layers", "32.0"), "num_hidden_layers",
                    "without fraction or exponent, not 32.0"},
        RefusedCase{"Exponent", LlamaWith("hidden_size", "1e3"), "hidden_size", "not 1e3"},
        RefusedCase{"Huge", LlamaWith("vocab_size", "1e30"), "vocab_size", "not 1e30"},
        RefusedCase{"BeyondInt64", LlamaWith("vocab_size", "18446744073709551615"), "vocab_size",
                    "not 18446744073709551615"},
        RefusedCase{"BeyondUint64", LlamaWith("vocab_size", "99999999999999999999"), "vocab_size",
                    "not 99999999999999999999"},
        RefusedCase{"Large", LlamaWith("hidden_size", "10000004"), "hidden_size",
                    "must be 1 to 10000000, not 10000004"},
        RefusedCase{"Zero", LlamaWith("num_hidden_layers", "0"), "num_hidden_layers",
                    "from 1 to 1000000000"},
        RefusedCase{"Negative", LlamaWith("intermediate_size", "-1"), "intermediate_size",
                    "not -1"},
        RefusedCase{"ZeroHeads", LlamaWith("num_key_value_heads", "0"), "num_key_value_heads",
                    "from 1 to 1000000000"},
        RefusedCase{"Bool", LlamaWith("hidden_size", "true"), "hidden_size", "not true"},
        RefusedCase{"List", LlamaWith("num_key_value_heads", "[2, 1]"), "num_key_value_heads",
                    "not an array"},
        RefusedCase{"Object", LlamaWith("hidden_size", "{}"), "hidden_size", "not an object"},
        RefusedCase{"NullSize", LlamaWith("hidden_size", "null"), "hidden_size",
                    "is required: write 1 to 10000000"},
        RefusedCase{"HeadsDontDivide", LlamaWith("num_attention_heads", "6"), "num_attention_heads",
                    "must divide hidden_size (8), which 6 does not; or give "
                    "head_dim"},
        RefusedCase{"KeyHeadsDontDivide", LlamaWith("num_key_value_heads", "3"),
                    "num_key_value_heads", "must divide num_attention_heads (4), which 3 does not"},
        RefusedCase{"FlagNumber", LlamaWith("tie_word_embeddings", "1"), "tie_word_embeddings",
                    "must be true or false, not 1"},
        RefusedCase{"FlagNull", LlamaWith("attention_bias", "null"), "attention_bias",
                    "must be true or false, not null"},
        RefusedCase{"FlagText", LlamaWith("mlp_bias", R"("no")"), "mlp_bias", "not \"no\""},
        RefusedCase{"NoKeyHeads", R"({"model_type": "mistral", "num_hidden_layers": 2,
                    "hidden_size": 8, "vocab_size": 10, "intermediate_size": 16,
                    "num_attention_heads": 4})",
                    "num_key_value_heads", "is required"},
        RefusedCase{"NoPositions", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 8,
                    "vocab_size": 10, "n_head": 4})",
                    "n_positions", "is required"},
        RefusedCase{"GptHeads", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 8,
                    "vocab_size": 10, "n_head": 3, "n_positions": 4})",
                    "n_head", "must divide n_embd (8), which 3 does not"},
        RefusedCase{"TooLargeTogether",
                    R"({"model_type": "llama", "num_hidden_layers": 1000000, "vocab_size": 10,
                    "hidden_size": 1000000, "intermediate_size": 16, "num_attention_heads": 4})",
                    "", "more than 1000000000000000 parameters"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Models, HuggingFaceRefusals,
    ::testing::Values(
        RefusedCase{"NoType", R"({"hidden_size": 8})", "model_type",
                    "is required: a family's name, such as llama; all: docs/config_json.md"},
        RefusedCase{"NoTypeNoArchitecture", R"({"architectures": []})", "model_type",
                    "is required"},
        RefusedCase{"TypeNumber", R"({"model_type": 7})", "model_type", "must be a text"},
        RefusedCase{"Unknown", R"({"model_type": "lama"})", "model_type",
                    "model_type \"lama\" is not known; near names: llama, llama4_text; all: "
                    "docs/config_json.md"},
        RefusedCase{
            "Experts", R"({"model_type": "granitemoe", "num_local_experts": 8})", "model_type",
            "\"granitemoe\" is a mixture of experts, which is not supported yet; all that are "
            "supported: docs/config_json.md"},
        RefusedCase{"Latent", R"({"model_type": "minicpm3"})", "model_type", "latent attention"},
        RefusedCase{"StateSpace", R"({"model_type": "mamba2"})", "model_type", "state-space"},
        RefusedCase{"Encoder", R"({"model_type": "roberta"})", "model_type", "encoder"},
        RefusedCase{"Wrapper", R"({"model_type": "gemma3", "text_config": {"hidden_size": 8}})",
                    "text_config.model_type", "is required"},
        RefusedCase{"Multimodal", R"({"model_type": "llava"})", "model_type", "multimodal"},
        RefusedCase{"UnknownArchitecture", R"({"architectures": ["BartModel"]})", "architectures",
                    "architecture \"BartModel\" is not known; all: docs/config_json.md"},
        RefusedCase{"Classifier",
                    LlamaWith("architectures", R"(["LlamaForSequenceClassification"])"),
                    "architectures", "write LlamaForCausalLM if"},
        RefusedCase{"ArchitectureText", LlamaWith("architectures", R"("LlamaForCausalLM")"),
                    "architectures", "must be an array of names"},
        RefusedCase{"ArchitectureNumber", LlamaWith("architectures", "[7]"), "architectures",
                    "must be an array of names"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Counted, HuggingFaceRefusals,
    ::testing::Values(
        RefusedCase{"DenseWithExperts", LlamaWith("num_local_experts", "8"), "num_local_experts",
                    "8 speaks of parameters"},
        RefusedCase{"FloatExperts", LlamaWith("num_experts", "8.0"), "num_experts", "8.0 speaks"},
        RefusedCase{"FloatRoutedExperts", LlamaWith("n_routed_experts", "64.0"), "n_routed_experts",
                    "64.0 speaks"},
        RefusedCase{"ExponentExperts", LlamaWith("num_local_experts", "1e30"), "num_local_experts",
                    "1e30 speaks"},
        RefusedCase{"HugeExperts", LlamaWith("num_local_experts", "18446744073709551615"),
                    "num_local_experts", "18446744073709551615 speaks"},
        RefusedCase{"TinyExperts", LlamaWith("num_experts", "1e-400"), "num_experts", "speaks"},
        RefusedCase{"FloatLora", LlamaWith("lora_rank", "16.0"), "lora_rank", "16.0 speaks"},
        RefusedCase{"FloatBias", LlamaWith("qkv_bias", "1.0"), "qkv_bias", "1.0 speaks"},
        RefusedCase{"Lora", LlamaWith("kv_lora_rank", "512"), "kv_lora_rank", "512 speaks"},
        RefusedCase{"ExtraLayers", LlamaWith("num_nextn_predict_layers", "1"),
                    "num_nextn_predict_layers", "remove the field"},
        RefusedCase{"CrossAttention", LlamaWith("add_cross_attention", "true"),
                    "add_cross_attention", "true speaks"},
        RefusedCase{"UnreadBias", LlamaWith("qkv_bias", "true"), "qkv_bias", "true speaks"},
        RefusedCase{"Vision", LlamaWith("vision_config", R"({"depth": 2})"), "vision_config",
                    "an object speaks"},
        RefusedCase{"Pruned", LlamaWith("pruned_heads", R"({"0": [1]})"), "pruned_heads", "speaks"},
        RefusedCase{"LinearLayers",
                    LlamaWith("layer_types", R"(["full_attention", "linear_attention"])"),
                    "layer_types", "sliding_attention"},
        RefusedCase{"OddLayers", LlamaWith("layer_types", "[1]"), "layer_types", "must name"},
        RefusedCase{"TwoWidths", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 8,
                    "vocab_size": 10, "n_head": 4, "n_positions": 4, "hidden_size": 16})",
                    "hidden_size", "is 16, but this family's other fields make 8 of it"},
        RefusedCase{"TwoPositions", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 8,
                    "vocab_size": 10, "n_head": 4, "n_positions": 4,
                    "max_position_embeddings": 8})",
                    "max_position_embeddings", "make 4 of it"},
        RefusedCase{"UnreadHeadDim", R"({"model_type": "gpt_neox", "num_hidden_layers": 2,
                    "hidden_size": 8, "vocab_size": 10, "intermediate_size": 16,
                    "num_attention_heads": 4, "head_dim": 8})",
                    "head_dim", "make 2 of it"}),
    kName);

TEST(HuggingFaceConfig, ReadsTheTextModelOfAMultimodalOne) {
  const auto wrapped = ReadHuggingFaceConfig(absl::StrCat(
      R"({"model_type": "llava", "vision_config": {"hidden_size": 1}, "text_config": )", kLlama,
      "}"));
  ASSERT_THAT(wrapped, IsOk());
  EXPECT_EQ(wrapped->wrapper, "text_config");
  EXPECT_THAT(wrapped->ignored_fields,
              ElementsAre("text_config.eos_token_id", "text_config.rope_scaling", "model_type",
                          "vision_config"));
  const auto alone = ReadHuggingFaceConfig(kLlama);
  ASSERT_THAT(alone, IsOk());
  EXPECT_EQ(alone->wrapper, "");
  EXPECT_EQ(CountArchitecture(wrapped->architecture, "m")->all.total,
            CountArchitecture(alone->architecture, "m")->all.total);
}

TEST(HuggingFaceConfig, PassesOverRatesAndZeros) {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"num_experts", "0.0"},
           {"num_experts", "-0.0"},
           {"num_experts", "0e5"},
           {"lora_dropout", "0.05"},
           {"lora_alpha", "16.0"},
           {"moe_aux_loss_coef", "1e-3"},
           {"moe_jitter_eps", "0.01"},
           {"expert_capacity_factor", "1.25"}}) {
    EXPECT_THAT(ReadHuggingFaceConfig(LlamaWith(name, value)), IsOk()) << name << " " << value;
  }
}

TEST(HuggingFaceConfig, CollectsAllMistakes) {
  EXPECT_THAT(ReadHuggingFaceConfig(R"({"model_type": "llama", "hidden_size": "8",
                  "num_attention_heads": 0, "vocab_size": 10, "intermediate_size": 16,
                  "attention_bias": 1, "num_experts": 4})"),
              NamesFields(::testing::UnorderedElementsAre(
                  FieldPath(kPath, "hidden_size"), FieldPath(kPath, "num_attention_heads"),
                  FieldPath(kPath, "num_hidden_layers"), FieldPath(kPath, "attention_bias"),
                  FieldPath(kPath, "num_experts"))));
}

TEST(HuggingFaceConfig, TakesWhatIsJustWithinTheLimits) {
  EXPECT_THAT(ReadHuggingFaceConfig(std::string("\xef\xbb\xbf") + kLlama), IsOk());  // a BOM
  EXPECT_THAT(ReadHuggingFaceConfig(absl::StrCat("\r\n\t", kLlama, "\n")), IsOk());
  const std::string deep = absl::StrCat(std::string(63, '['), std::string(63, ']'));
  EXPECT_THAT(ReadHuggingFaceConfig(LlamaWith("a", deep)), IsOk());
  const size_t rest = 64 * 1024 - LlamaWith("a", "\"\"").size();
  const auto whole = LlamaWith("a", absl::StrCat("\"", std::string(rest, 'x'), "\""));
  ASSERT_EQ(whole.size(), 64u * 1024);
  EXPECT_THAT(ReadHuggingFaceConfig(whole), IsOk());
}

// Malformed texts are quoted briefly, and as UTF-8: a status goes on the wire.
TEST(HuggingFaceConfig, ErrorsStayShort) {
  const std::string many(20'000, 'y');
  for (const std::string& text :
       {LlamaWith("hidden_size", absl::StrCat("\"", many, "\"")),
        absl::StrCat("{\"model_type\": \"", many, "\"}"),
        absl::StrCat("{\"", many, "\": 1, \"", many, "\": 2}"), absl::StrCat("{\"", many),
        LlamaWith(absl::StrCat("lora_", many), "1"),
        absl::StrCat("{\"a\": \"", many, "\xc3\x28\"}")}) {
    const absl::Status status = ReadHuggingFaceConfig(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(status.message().size(), 700u);
    for (const char c : std::string(status.message())) {
      EXPECT_LT(static_cast<unsigned char>(c), 0x80);
    }
  }
}

}  // namespace
}  // namespace sextant::server
