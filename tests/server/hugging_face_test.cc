// A config.json: texts that are refused, each with the invalid field and advice; one of each
// family, counted to the parameter; and as a request's model. Small cases are the lines of
// config_cases.jsonl: "text", or a small config with "set", is refused by "field" with a
// description that "says" so, or is "accepted"; "set" adds "more" parameters to a small model of
// "family", and "why" has the hand count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/config/families.h"
#include "engine/model/presets/presets.h"
#include "server/convert/model_spec.h"
#include "tests/golden/golden_files.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kPath[] = "model.hugging_face_config";

constexpr char kLlama[] =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 10,
        "intermediate_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2,
        "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "eos_token_id": [1, 2]})";

// kLlama with `value` as the value of `field`, replaced or added.
std::string LlamaWith(const std::string& field, const std::string& value) {
  json config = json::parse(kLlama);
  config[field] = "PLACE";
  return absl::StrReplaceAll(config.dump(), {{"\"PLACE\"", value}});
}

// A file of the source tree.
std::string TextOf(const std::string& path) {
  std::ifstream in(SourceFolder() + "/" + path);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

int64_t CountOf(const ArchitectureSpec& architecture) {
  const auto count = CountArchitecture(architecture, "");
  EXPECT_THAT(count, IsOk());
  return count.ok() ? count->all.total : -1;
}

int64_t CountOf(const std::string& text) {
  const auto model = ReadHuggingFaceConfig(text);
  EXPECT_THAT(model, IsOk()) << text;
  return model.ok() ? CountOf(model->architecture) : -1;
}

void ExpectRefused(const std::string& text, const std::string& field, const std::string& says) {
  const absl::Status status = ReadHuggingFaceConfig(text).status();
  EXPECT_THAT(status, NamesFields(ElementsAre(FieldPath(kPath, field))));
  EXPECT_THAT(std::string(status.message()), HasSubstr(says));
}

// The default of an absent field, by its effect on the count of a small model: 2 layers, 8 wide, 2
// heads, 16 inside, 10 tokens.
json SmallConfig(const std::string& model_type) {
  // Fields with other names in a family; null removes a field.
  static const std::map<std::string, const char*> kPatches = {
      {"falcon", R"({"num_key_value_heads": null, "intermediate_size": null})"},
      {"gemma", R"({"head_dim": 4})"},
      {"gpt_neox", R"({"num_key_value_heads": null})"},
      {"opt", R"({"num_key_value_heads": null, "intermediate_size": null, "ffn_dim": 16,
                  "max_position_embeddings": 4})"}};
  json out = json::parse(R"({"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 16,
                             "num_attention_heads": 2, "num_key_value_heads": 2,
                             "vocab_size": 10})");
  out["model_type"] = model_type;
  const auto patch = kPatches.find(model_type);
  if (patch != kPatches.end()) out.merge_patch(json::parse(patch->second));
  return out;
}

TEST(HuggingFaceConfig, CasesAreRefusedOrCountedByHand) {
  std::istringstream cases(TextOf("tests/server/config_cases.jsonl"));
  for (std::string line; std::getline(cases, line);) {
    SCOPED_TRACE(line);
    const json tested = json::parse(line);
    if (tested.contains("family")) {
      const json small = SmallConfig(tested["family"]);
      json more = small;
      more.update(tested["set"]);
      EXPECT_EQ(CountOf(more.dump()) - CountOf(small.dump()), tested["more"].get<int64_t>());
      continue;
    }
    const auto set = tested.value("set", std::map<std::string, std::string>());
    if (tested.contains("accepted")) {
      EXPECT_THAT(ReadHuggingFaceConfig(LlamaWith(set.begin()->first, set.begin()->second)),
                  IsOk());
      continue;
    }
    ExpectRefused(set.empty() ? tested["text"].get<std::string>()
                              : LlamaWith(set.begin()->first, set.begin()->second),
                  tested["field"], tested["says"]);
  }
}

std::string Repeated(int count, absl::string_view part) {
  std::string out;
  for (int i = 0; i < count; ++i) absl::StrAppend(&out, part);
  return out;
}

std::string Nested(int depth) {
  return absl::StrCat(R"({"a": )", Repeated(depth, "["), Repeated(depth, "]"), "}");
}

std::string ManyFields(int count) {
  std::string out = R"({"model_type": "llama")";
  for (int i = 1; i < count; ++i) absl::StrAppend(&out, ", \"f", i, "\": 0");
  return out + "}";
}

TEST(HuggingFaceConfig, RefusesTextsThatNoJsonCanHold) {
  for (const auto& [text, says] : std::initializer_list<std::pair<std::string, const char*>>{
           {absl::StrCat(kLlama, "}"), "expected end of input"},
           {absl::StrCat(kLlama, kLlama), "expected end of input"},
           {"{\"model_type\": \"\xff\xfe\"}", "ill-formed UTF-8"},
           {std::string("\xff\xfe{\0}\0", 6), "not valid JSON"},
           {std::string("{\0}", 3), "not valid JSON"},
           {Nested(64), "nested deeper than 64"},
           {Nested(10'000), "nested deeper than 64"},
           {absl::StrCat("{\"a\": ", Repeated(60'000, "[")), "nested deeper"},
           {Repeated(10'000, "{\"a\":"), "nested deeper than 64"},
           {LlamaWith("a", absl::StrCat("\"", std::string(64 * 1024, 'x'), "\"")),
            "more than 65536 (64 KiB)"},
           {ManyFields(1001), "more than 1000 fields"}}) {
    SCOPED_TRACE(text.substr(0, 80));
    ExpectRefused(text, "", says);
  }
}

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
  EXPECT_EQ(CountOf(wrapped->architecture), CountOf(alone->architecture));
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
  EXPECT_THAT(ReadHuggingFaceConfig(LlamaWith("task_specific_params", deep)), IsOk());
  const size_t rest = 64 * 1024 - LlamaWith("license", "\"\"").size();
  const auto whole = LlamaWith("license", absl::StrCat("\"", std::string(rest, 'x'), "\""));
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

// Lists every tensor, and the attention of each run of layers.
std::string Describe(const ArchitectureSpec& architecture) {
  std::string out;
  for (const WeightTensor& t : WeightsOf(architecture)) {
    absl::StrAppend(&out, WeightNameOf(architecture, t), " ", t.rows, "x", t.columns, " ", t.copies,
                    "/", t.active_copies, " ", t.layers, "\n");
  }
  for (const StackSpec* stack : {&architecture.encoder, &architecture.decoder}) {
    for (const LayerRun& run : stack->layers) {
      const LayerSpec& kind = architecture.layer_kinds[static_cast<size_t>(run.layer_kind)];
      absl::StrAppend(&out, kind.name, " ", run.count, " ", kind.attention->window, " ",
                      kind.attention->chunk, "\n");
    }
  }
  return out;
}

// Whole files, including fields that no count depends on; each cites the source of its total.
TEST(HuggingFaceFamilies, CountWholeFilesExactly) {
  const auto rows = GoldenLines("config_json.jsonl");
  ASSERT_EQ(rows.size(), 119u);
  std::set<std::string> families;
  for (const auto& row : rows) {
    const std::string name = row.at("name");
    const std::string text = GoldenConfig(name);
    EXPECT_EQ(CountOf(text), row.at("total_parameters").get<int64_t>()) << name;
    const json config = json::parse(text);
    families.insert(config.value("text_config", config).value("model_type", "params.json"));
    const std::string preset_prefix = "preset ";
    const std::string source = row.at("total_source");
    if (source.rfind(preset_prefix, 0) != 0) continue;
    const auto preset = FindModelPreset(source.substr(preset_prefix.size()));
    ASSERT_THAT(preset, IsOk());
    EXPECT_EQ(Describe(ReadHuggingFaceConfig(text)->architecture),
              Describe((*preset)->architecture))
        << name;
  }
  // Every family has a file, and a line in the document.
  const std::string document = TextOf("docs/config_json.md");
  for (const KnownName& name : KnownModelTypes()) {
    EXPECT_THAT(families, Contains(std::string(name.name)));
    EXPECT_THAT(document, HasSubstr(absl::StrCat("| `", name.name, "` | ",
                                                 FindFamily(name.name)->architecture)));
  }
}

TEST(HuggingFaceFamilies, ListWhatWasNotRead) {
  const auto model = ReadHuggingFaceConfig(
      R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 10,
          "intermediate_size": 16, "num_attention_heads": 2, "architectures": ["LlamaForCausalLM"],
          "torch_dtype": "bfloat16", "sliding_window": 4096, "rope_scaling": {"factor": 8},
          "pad_token_id": null, "quantization_config": {"bits": 4}, "num_local_experts": 1,
          "head_dim": 4, "vision_start_token_id": 7,
          "is_encoder_decoder": false, "fused_cross_entropy": true, "router_expert_loss": 0.1,
          "layer_types": ["full_attention", "sliding_attention"]})");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->model_type, "llama");
  EXPECT_THAT(
      model->ignored_fields,
      ElementsAre("fused_cross_entropy", "is_encoder_decoder", "layer_types", "num_local_experts",
                  "quantization_config", "rope_scaling", "router_expert_loss", "sliding_window",
                  "torch_dtype", "vision_start_token_id"));
}

TEST(HuggingFaceFamilies, AreFoundByArchitectureWhereModelTypeIsMissing) {
  const auto model = ReadHuggingFaceConfig(
      R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 8,
          "vocab_size": 10, "intermediate_size": 16, "num_attention_heads": 2})");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->model_type, "llama");
  EXPECT_THAT(model->ignored_fields, Not(Contains("architectures")));
}

v1::PlanRunRequest RequestFor(const std::string& config) {
  v1::PlanRunRequest request = TestServer::GoodRequest();
  request.mutable_model()->Clear();
  request.mutable_model()->set_hugging_face_config(config);
  return request;
}

TEST(HuggingFaceServer, PlansAsItsPreset) {
  const TestServer server;
  v1::PlanRunRequest request = RequestFor(GoldenConfig("llama-3.1-8b"));
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  request.mutable_options()->set_include_derivation(true);
  v1::PlanRunResponse from_config;
  const grpc::Status status = server.PlanRun(request, &from_config);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(from_config.plan().model_name(), "llama");
  EXPECT_EQ(from_config.plan().parameters().total(), 8'030'261'248);
  EXPECT_THAT(from_config.plan().ignored_config_fields(), ::testing::Contains("rope_theta"));

  request.mutable_model()->Clear();
  request.mutable_model()->set_preset("llama-3.1-8b");
  v1::PlanRunResponse from_preset;
  ASSERT_TRUE(server.PlanRun(request, &from_preset).ok());
  EXPECT_THAT(from_preset.plan().ignored_config_fields(), IsEmpty());
  // Everything else is equal.
  from_config.mutable_plan()->clear_ignored_config_fields();
  from_config.mutable_plan()->set_model_name("llama-3.1-8b");
  EXPECT_EQ(from_config.SerializeAsString(), from_preset.SerializeAsString());
}

// A field that may stand for parameters is refused, or named in every view of an answer.
TEST(HuggingFaceServer, NamesUnreadFieldsWhereAsked) {
  const TestServer server;
  v1::PlanRunRequest request = RequestFor(LlamaWith("attn_output_gate", "true"));
  v1::PlanRunResponse response;
  EXPECT_THAT(FaultsOf(server.PlanRun(request, &response)),
              ElementsAre(HasSubstr("model.allow_unread_fields")));
  request.mutable_model()->set_allow_unread_fields(true);
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(response.plan().unread_config_fields(), ElementsAre("attn_output_gate"));
  EXPECT_THAT(response.plan().ignored_config_fields(), IsEmpty());
  request.mutable_model()->clear_hugging_face_config();
  request.mutable_model()->set_preset("gpt2");
  EXPECT_THAT(FaultsOf(server.PlanRun(request, &response)),
              ElementsAre(StartsWith("model.allow_unread_fields: ")));
}

// An answer cuts descriptions: the pointer to the families is at the end, and has to arrive.
TEST(HuggingFaceServer, SaysWholeWhereTheFamiliesAreListed) {
  const TestServer server;
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "\u00e9";
  for (const std::string& config :
       {std::string(R"({"hidden_size": 8})"), std::string(R"({"model_type": "gpt"})"),
        std::string(R"({"model_type": "deepseek_v4"})"),
        std::string(R"({"model_type": "gemma3n"})"),
        absl::StrCat(R"({"model_type": "gpt )", accents, R"("})"),
        absl::StrCat(R"({"architectures": [")", accents, R"("]})"),
        std::string(R"({"architectures": ["MambaForCausalLM"]})")}) {
    v1::PlanRunResponse response;
    const grpc::Status status = server.PlanRun(RequestFor(config), &response);
    EXPECT_THAT(FaultsOf(status), ElementsAre(EndsWith(": docs/config_json.md"))) << config;
    EXPECT_THAT(status.error_message(), EndsWith(": docs/config_json.md")) << config;
  }
}

TEST(HuggingFaceServer, RefusesTheLongAndServesOn) {
  const TestServer server;
  v1::PlanRunResponse response;
  const grpc::Status ours = server.PlanRun(RequestFor(std::string(300 * 1024, ' ')), &response);
  EXPECT_EQ(ours.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ours.error_message(), HasSubstr("64 KiB"));
  EXPECT_THAT(FaultsOf(ours), ElementsAre(StartsWith("model.hugging_face_config: ")));
  // Above the server's limit of a message, 1 MiB, gRPC itself refuses.
  const grpc::Status grpcs = server.PlanRun(RequestFor(std::string(2 << 20, ' ')), &response);
  EXPECT_EQ(grpcs.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const std::string deep =
      absl::StrCat("{\"a\":", std::string(10'000, '['), std::string(10'000, ']'), "}");
  EXPECT_THAT(FaultsOf(server.PlanRun(RequestFor(deep), &response)),
              ElementsAre(StartsWith("model.hugging_face_config: ")));
  EXPECT_TRUE(server.PlanRun(RequestFor(GoldenConfig("qwen3-4b")), &response).ok());
}

}  // namespace
}  // namespace sextant::server
