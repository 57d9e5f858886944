// `sextant count`: what it asks for, and its words for what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/io/message_file.h"
#include "tests/client/fake_server.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

Ran Printed(std::vector<std::string> args, const std::string& input = "") {
  args.insert(args.begin(), {"count", "--print-request"});
  return RunWith(args, input);
}

void ExpectCountRequest(const std::vector<std::string>& args, const std::string& json,
                        const std::string& input = "") {
  v1::CountModelRequest expected = FromJson<v1::CountModelRequest>(json);
  expected.set_include_components(true);
  ExpectSame(FromJson<v1::CountModelRequest>(Printed(args, input).out), expected);
}

TEST(CountCommand, FlagsOverrideTheRequestsFile) {
  const char* const request = "--request=-";
  const char* const file = R"({
    "model": {"preset": "gpt2", "changes": {"base_frozen": true}},
    "step": {"sequences": [{"length": 4096}], "recompute": "RECOMPUTE_POLICY_FULL"}})";
  ExpectCountRequest({request}, file, file);
  // A model replaces the whole of the file's, and a list its list.
  ExpectCountRequest({request, "llama-2-7b", "--sequence=1Ki", "--sequence=2Ki", "--tp=2"},
                     R"({"model": {"preset": "llama-2-7b"},
    "step": {"sequences": [{"length": 1024}, {"length": 2048}],
      "recompute": "RECOMPUTE_POLICY_FULL"}, "layout": {"tensor_parallel_size": 2}})",
                     file);
}

// The server's message names the field; ours could only guess at its rules.
TEST(CountCommand, ForwardsValuesThatTheServerWillRefuse) {
  ExpectCountRequest(
      {"gpt2", "--sequence=-5x0", "--tp=0", "--lora-targets=,", "--recompute=none"},
      R"({"model": {"preset": "gpt2", "changes": {"adapters": {"targets": ["", ""]}}},
                    "step": {"sequences": [{"count": -5, "length": 0}],
                      "recompute": "RECOMPUTE_POLICY_NONE"},
                    "layout": {"tensor_parallel_size": 0}})");
}

TEST(CountCommand, TakesWhatReadsAsAFileForAConfig) {
  const std::string json = R"({"model": {"hugging_face_config": "{\"a\": 1}"}})";
  const std::string text = R"({"a": 1})";
  ExpectCountRequest({FileWith("config.json", text)}, json);
  ExpectCountRequest({"-"}, json, text);
  // A file in the folder at hand, whatever its name.
  const std::string name = FileWith("count_config", text);
  ExpectCountRequest({name}, json);
  std::remove(name.c_str());
  ExpectCountRequest({name}, absl::StrCat(R"({"model": {"preset": ")", name, R"("}})"));
}

TEST(CountCommand, TakesAFolderThatHoldsAConfig) {
  const TemporaryFolder folder;
  const auto write = [&folder](const char* name, const char* text) {
    std::ofstream(folder.path() + "/" + name) << text;
  };
  EXPECT_THAT(Printed({folder.path()}).err,
              HasSubstr("holds neither a config.json nor a params.json"));
  write("params.json", R"({"b": 2})");
  ExpectCountRequest({folder.path()}, R"({"model": {"hugging_face_config": "{\"b\": 2}"}})");
  write("config.json", R"({"a": 1})");
  ExpectCountRequest({folder.path()}, R"({"model": {"hugging_face_config": "{\"a\": 1}"}})");
}

TEST(CountCommand, NamesTheFileThatCantBeSent) {
  const std::string empty = FileWith("empty.json", " \n");
  EXPECT_THAT(Printed({empty}).err,
              HasSubstr(absl::StrCat(empty, ": the file holds no text: give one that does")));
  EXPECT_THAT(Printed({"-"}, "\xff\xfe{").err,
              HasSubstr("(REQUEST_MALFORMED): standard input: the file's text is not UTF-8"));
  const Ran large = Printed({"-"}, std::string(64 * 1024 + 1, ' '));
  EXPECT_EQ(large.exit_code, kExitBadRequest);
  EXPECT_THAT(large.err, HasSubstr("64 KiB (65536 bytes)"));
  EXPECT_THAT(Printed({"--architecture=-"}, R"({"hidden": 4})").err,
              HasSubstr("standard input: not an Architecture in proto JSON"));
  ExpectCountRequest({"--architecture=-"}, R"({"model": {"architecture": {"hidden_size": 4}}})",
                     R"({"hidden_size": 4})");
}

// What the program prints of an answer or error.
Ran CountAnswer(std::vector<std::string> args, const v1::CountModelResponse& response,
                const grpc::Status& status = grpc::Status::OK) {
  Answering<v1::CountModelRequest, v1::CountModelResponse> counts;
  counts.response = response;
  counts.status = status;
  const FakeServer server(AccountingHandlers{.count_model = counts.handler()});
  args.insert(args.begin(), {"count", "--address", server.address()});
  return RunWith(args);
}

TEST(CountCommand, NamesTheFlagAtFault) {
  const grpc::Status status = FieldInvalid("step.sequences[0].length", "see layers_per_chunk");
  const Ran ran = CountAnswer({"gpt2", "--sequence=0"}, {}, status);
  EXPECT_EQ(ran.exit_code, kExitBadRequest);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "sextant: INVALID_ARGUMENT: correct 1 field\n"
            "  --sequence, entry 1 (length): see --layers-per-chunk\n");
  // Programs get the API's own paths.
  const nlohmann::json json =
      nlohmann::json::parse(CountAnswer({"gpt2", "--output=json"}, {}, status).err);
  EXPECT_EQ(json.at("fieldViolations").at(0).at("field"), "step.sequences[0].length");
  EXPECT_EQ(json.at("fieldViolations").at(0).at("description"), "see layers_per_chunk");
}

// Totals need no sequences.
TEST(CountCommand, ListsPublishedTotalsAlone) {
  v1::CountModelResponse response;
  response.mutable_parameters()->set_total(10);
  response.add_totals()->set_name("all");
  response.add_totals()->set_name("main_model");
  const std::string out = CountAnswer({"gpt2", "--conventions"}, response).out;
  EXPECT_THAT(out, HasSubstr("Totals, as they may be published"));
  EXPECT_THAT(out, HasSubstr("add --sequence=LENGTH"));
  EXPECT_THAT(CountAnswer({"gpt2"}, response).out, ::testing::Not(HasSubstr("--sequence")));
}

TEST(CountCommand, ComparesWithTheIndexOfTheWeights) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/config.json") << "{}";
  v1::CountModelResponse response;
  response.mutable_parameters()->set_total(10);
  const auto says = [&](const std::string& metadata) {
    std::ofstream(folder.path() + "/model.safetensors.index.json")
        << "{\n  \"metadata\": {" << metadata << "}, \"weight_map\": {}}";
    return CountAnswer({folder.path() + "/config.json"}, response).out;
  };
  EXPECT_THAT(says("\"total_size\": 20"),
              HasSubstr("total_size says 20 bytes, counted 10 parameters of 2 bytes: the same"));
  EXPECT_THAT(says("\"total_size\": 25\n"), HasSubstr("which makes 2.5000"));
  EXPECT_THAT(says("\"total_size\": -1"), ::testing::Not(HasSubstr("total_size")));
  EXPECT_THAT(says(""), ::testing::Not(HasSubstr("total_size")));
  EXPECT_THAT(CountAnswer({"gpt2"}, response).out, ::testing::Not(HasSubstr("total_size")));
}

TEST(CountCommand, PrintsAnArchitectureToEdit) {
  v1::CountModelResponse response;
  response.mutable_parameters()->set_total(10);
  response.mutable_architecture()->set_hidden_size(4);
  EXPECT_EQ(CountAnswer({"gpt2", "--print-architecture"}, response).out,
            ProtoJson(response.architecture()));
  ExpectCountRequest({"gpt2", "--print-architecture"},
                     R"({"model": {"preset": "gpt2"}, "include_architecture": true})");
}

TEST(CountCommand, SaysWhatIsMissingBeforeTheTables) {
  v1::CountModelResponse response;
  response.set_model_name("m");
  response.mutable_parameters()->set_total(10);
  response.add_unread_config_fields("attn_output_gate");
  response.set_text_model_field("text_config");
  response.set_vision_parameter_count(1234);
  const std::string out = CountAnswer({"gpt2"}, response).out;
  EXPECT_THAT(out, HasSubstr("  not read: attn_output_gate;"));
  EXPECT_THAT(out, HasSubstr("the text model (text_config) alone"));
  EXPECT_THAT(out, HasSubstr("1,234"));
}

TEST(CountCommand, SaysThatTargetsWereDefaults) {
  const grpc::Status status = FieldInvalid("model.changes.adapters.targets[0]", "is no matrix");
  const std::string hint = "attention.query,attention.value is the default of --lora-targets";
  EXPECT_THAT(CountAnswer({"gpt2", "--lora-rank=8"}, {}, status).err,
              HasSubstr("  --lora-targets, entry 1: is no matrix\n  " + hint));
}

TEST(CountCommand, TakesNoAnswerWithoutWhatWasAsked) {
  v1::CountModelResponse response;
  EXPECT_THAT(CountAnswer({"gpt2"}, response).err, HasSubstr("the answer holds no parameters"));
  response.mutable_parameters()->set_total(1234567);
  EXPECT_EQ(CountAnswer({"gpt2"}, response).exit_code, kExitFits);
  EXPECT_THAT(CountAnswer({"gpt2", "--sequence=8"}, response).err,
              HasSubstr("the answer holds no FLOPs"));
  const Ran ran = CountAnswer({"gpt2", "--tp=8"}, response);
  EXPECT_EQ(ran.exit_code, kExitInternal);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("the answer holds no stages"));
}

}  // namespace
}  // namespace sextant::client
