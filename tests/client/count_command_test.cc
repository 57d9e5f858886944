// `sextant count`: what it asks for, the words for what is wrong with it, and the whole command
// against a fake server.
#include "client/command/count_command.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/flags/field_path.h"
#include "client/io/call_error.h"
#include "tests/client/fake_server.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A file of the test's own, holding `text`.
std::string CountFileWith(const std::string& name, const std::string& text) {
  const std::string path = TemporaryFile(absl::StrCat("count_", name));
  std::ofstream(path) << text;
  return path;
}

struct BuiltCount {
  grpc::Status status;
  v1::CountModelRequest request;
};

BuiltCount BuildCount(const std::vector<std::string>& args, const std::string& input = "") {
  CLI::App app;
  CountCommand count;
  AddCountFlags(&count, &app);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // as CLI11 wants them
  } catch (const CLI::Error& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
  std::istringstream in(input);
  BuiltCount built;
  built.status = BuildCountRequest(count, in, &built.request);
  return built;
}

void ExpectCountRequest(const std::vector<std::string>& args, const std::string& json,
                        const std::string& input = "") {
  const BuiltCount built = BuildCount(args, input);
  ASSERT_TRUE(built.status.ok()) << built.status.error_message();
  v1::CountModelRequest expect;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &expect).ok()) << json;
  expect.set_include_components(true);
  google::protobuf::util::MessageDifferencer differ;
  std::string difference;
  differ.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differ.Compare(expect, built.request)) << difference;
}

TEST(BuildCountRequest, SetsNothingThatWasNotGiven) {
  ExpectCountRequest({"gpt2"}, R"({"model": {"preset": "gpt2"}})");
}

TEST(BuildCountRequest, FillsEveryField) {
  ExpectCountRequest({"mixtral-8x7b",
                      "--sequence=4096",
                      "--sequence-length=8x2Ki",
                      "--sequence=2x512:64",
                      "--sequence",
                      "7:9",
                      "--recompute=full",
                      "--expert-capacity-factor=1.25",
                      "--tp=8",
                      "--pp=4",
                      "--virtual-stages=2",
                      "--layers-per-chunk=8x8x7",
                      "--ep=16",
                      "--etp=1",
                      "--split-key-value-heads",
                      "--vocabulary-multiple=128",
                      "--lora-rank=16",
                      "--freeze-base",
                      "--freeze=norm",
                      "--freeze=bias,router",
                      "--freeze-layers=3",
                      "--tensors",
                      "--include-architecture",
                      "--conventions"},
                     R"({"model": {"preset": "mixtral-8x7b", "changes": {"vocabulary_multiple": 128,
            "adapters": {"rank": 16, "targets": ["attention.query", "attention.value"]},
            "base_frozen": true, "frozen_components": ["norm", "bias", "router"],
            "frozen_layer_count": 3}},
          "step": {"sequences": [{"length": 4096}, {"count": 8, "length": 2048},
              {"count": 2, "length": 512, "encoder_length": 64},
              {"length": 7, "encoder_length": 9}],
            "recompute": "RECOMPUTE_POLICY_FULL", "expert_capacity_factor": 1.25},
          "layout": {"tensor_parallel_size": 8, "pipeline_parallel_size": 4,
            "virtual_stage_count": 2, "layers_per_chunk": [8, 8, 7],
            "expert_parallel_size": 16, "expert_tensor_parallel_size": 1,
            "split_key_value_heads": true},
          "include_tensors": true, "include_architecture": true})");
}

TEST(BuildCountRequest, FlagsOverrideTheRequestsFile) {
  const std::string file = CountFileWith("request.json", R"({
    "model": {"preset": "gpt2", "changes": {"base_frozen": true}},
    "step": {"sequences": [{"length": 4096}], "recompute": "RECOMPUTE_POLICY_FULL"}})");
  const std::string request = absl::StrCat("--request=", file);
  ExpectCountRequest({request}, R"({"model": {"preset": "gpt2", "changes": {"base_frozen": true}},
    "step": {"sequences": [{"length": 4096}], "recompute": "RECOMPUTE_POLICY_FULL"}})");
  // A model replaces the whole of the file's, and a list its list.
  ExpectCountRequest({request, "llama-2-7b", "--sequence=1Ki", "--sequence=2Ki", "--tp=2"},
                     R"({"model": {"preset": "llama-2-7b"},
    "step": {"sequences": [{"length": 1024}, {"length": 2048}],
      "recompute": "RECOMPUTE_POLICY_FULL"}, "layout": {"tensor_parallel_size": 2}})");
  ExpectCountRequest({"--request=-"}, R"({"model": {"preset": "gpt2"}})",
                     R"({"model": {"preset": "gpt2"}})");
  EXPECT_EQ(BuildCount({request, "--architecture=-"}, "no JSON").status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(BuildCountRequest, AdaptsWhatIsNamedInPlaceOfTheDefault) {
  ExpectCountRequest({"gpt2", "--lora-rank=2", "--lora-targets=feed_forward.up"},
                     R"({"model": {"preset": "gpt2", "changes": {"adapters": {"rank": 2,
                    "targets": ["feed_forward.up"]}}}})");
}

// The server's message names the field; ours could only guess at its rules.
TEST(BuildCountRequest, ForwardsValuesThatTheServerWillRefuse) {
  ExpectCountRequest(
      {"gpt2", "--sequence=-5x0", "--tp=0", "--lora-targets=,", "--recompute=none"},
      R"({"model": {"preset": "gpt2", "changes": {"adapters": {"targets": ["", ""]}}},
                    "step": {"sequences": [{"count": -5, "length": 0}],
                      "recompute": "RECOMPUTE_POLICY_NONE"},
                    "layout": {"tensor_parallel_size": 0}})");
}

TEST(BuildCountRequest, TakesWhatReadsAsAFileForAConfig) {
  const std::string json = R"({"model": {"hugging_face_config": "{\"a\": 1}"}})";
  const std::string text = R"({"a": 1})";
  ExpectCountRequest({CountFileWith("config.json", text)}, json);
  ExpectCountRequest({"-"}, json, text);
  // A file in the folder at hand, whatever its name.
  const std::string name = absl::StrCat("sextant_count_test_", getpid());
  std::ofstream(name) << text;
  ExpectCountRequest({name}, json);
  std::remove(name.c_str());
  ExpectCountRequest({name}, absl::StrCat(R"({"model": {"preset": ")", name, R"("}})"));
}

TEST(BuildCountRequest, NamesTheConfigThatCantBeSent) {
  const std::string empty = CountFileWith("empty.json", " \n");
  EXPECT_EQ(BuildCount({empty}).status.error_message(),
            absl::StrCat(empty, ": the file holds no text: give one that does"));
  const CallError utf16 = CallErrorOf(BuildCount({"-"}, "\xff\xfe{").status);
  EXPECT_EQ(utf16.reason, "REQUEST_MALFORMED");
  EXPECT_EQ(utf16.message, "standard input: the file's text is not UTF-8: save it as UTF-8");
  const CallError large = CallErrorOf(BuildCount({"-"}, std::string(64 * 1024 + 1, ' ')).status);
  EXPECT_EQ(large.reason, "REQUEST_TOO_LARGE");
  EXPECT_THAT(large.message, HasSubstr("64 KiB (65536 bytes)"));
}

TEST(BuildCountRequest, ReadsAnArchitecture) {
  const std::string json = R"({"model": {"architecture": {"hidden_size": 4}}})";
  ExpectCountRequest({"--architecture=-"}, json, R"({"hidden_size": 4})");
  ExpectCountRequest({absl::StrCat("--architecture=",
                                   CountFileWith("architecture.json", R"({"hidden_size": 4})"))},
                     json);
  const CallError error = CallErrorOf(BuildCount({"--architecture=-"}, R"({"hidden": 4})").status);
  EXPECT_EQ(error.reason, "REQUEST_MALFORMED");
  EXPECT_THAT(error.message, HasSubstr("standard input: not an Architecture in proto JSON"));
}

// All that has one value, or a list of texts.
TEST(CountFlags, SetFieldsOfTheRequest) {
  std::set<std::string> fields;
  for (const FieldFlag& flag : CountFlags()) {
    EXPECT_NE(FindField(*v1::CountModelRequest::descriptor(), flag.field), nullptr) << flag.field;
    EXPECT_TRUE(fields.insert(flag.field).second) << flag.field << " has two flags";
  }
  for (const auto& [path, type] : {std::pair("step.", v1::TrainingStep::descriptor()),
                                   {"layout.", v1::ParallelLayout::descriptor()}}) {
    for (int i = 0; i < type->field_count(); ++i) {
      if (type->field(i)->is_repeated()) continue;
      EXPECT_TRUE(fields.count(absl::StrCat(path, type->field(i)->name())))
          << type->field(i)->name() << " has no flag";
    }
  }
}

TEST(CountFieldWords, AreThoseOfTheCommandLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"model", "MODEL"},
      {"model.preset", "MODEL"},
      {"model.hugging_face_config", "MODEL"},
      {"model.hugging_face_config.num_hidden_layers", "MODEL: num_hidden_layers"},
      {"model.architecture", "--architecture"},
      {"model.architecture.layer_kinds[1].experts.expert_count",
       "--architecture: layer_kinds[1].experts.expert_count"},
      {"model.changes.adapters.rank", "--lora-rank"},
      {"model.changes.adapters.targets[1]", "--lora-targets, entry 2"},
      {"model.changes.base_frozen", "--freeze-base"},
      {"model.changes.frozen_components[0]", "--freeze, entry 1"},
      {"model.changes.frozen_layer_count", "--freeze-layers"},
      {"step.sequences", "--sequence"},
      {"step.sequences[2].encoder_length", "--sequence, entry 3 (encoder length)"},
      {"step.expert_capacity_factor", "--expert-capacity-factor"},
      {"layout.tensor_parallel_size", "--tp"},
      {"layout.layers_per_chunk[3]", "--layers-per-chunk, entry 4"},
      {"layout.layers_per_chunk[x]", "--layers-per-chunk ([x])"},
      {"step.sequences_of_the_future", "step.sequences_of_the_future"},
      {"future", "future"}};
  for (const auto& [field, words] : cases) EXPECT_EQ(CountFieldWords(field), words);
}

TEST(CountDescriptionWords, AreThoseOfTheCommandLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"pad them to 51200, by model.changes.vocabulary_multiple 1024",
       "pad them to 51200, by --vocabulary-multiple=1024"},
      {"write 4, or say how many go where in layers_per_chunk",
       "write 4, or say how many go where in --layers-per-chunk"},
      {"times virtual_stage_count must divide", "times --virtual-stages must divide"},
      {"fit layout.pipeline_parallel_size.", "fit --pp."},
      // Fields of the model, or ordinary words.
      {"dense.attention.head_count (12), which 8", "dense.attention.head_count (12), which 8"},
      {"the rank 8 of its targets", "the rank 8 of its targets"},
      {"a.layers_per_chunk, my_layers_per_chunk", "a.layers_per_chunk, my_layers_per_chunk"}};
  for (const auto& [text, words] : cases) EXPECT_EQ(CountDescriptionWords(text), words);
}

// One answer, and what the server was asked.
class CountModelCommand : public ::testing::Test {
 protected:
  CountModelCommand() { response_.mutable_parameters()->set_total(1234567); }

  Ran Run(std::vector<std::string> args, const std::string& input = "") {
    const FakeServer server(AccountingHandlers{
        .count_model = [this](grpc::ServerContext*, const v1::CountModelRequest& request,
                              v1::CountModelResponse* response) {
          request_ = request;
          *response = response_;
          return status_;
        }});
    args.insert(args.begin(), {"count", "--address", server.address()});
    return RunWith(args, input);
  }

  v1::CountModelRequest request_;
  v1::CountModelResponse response_;
  grpc::Status status_ = grpc::Status::OK;
};

TEST_F(CountModelCommand, AsksForAModelAndPrintsIt) {
  response_.set_model_name("toy\x1b[2J");
  const Ran ran = Run({"gpt2"});
  EXPECT_EQ(ran.exit_code, kExitFits) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, StartsWith("toy?[2J: 1,234,567 parameters\n"));
  EXPECT_EQ(request_.model().preset(), "gpt2");
  EXPECT_FALSE(request_.has_step());
  EXPECT_FALSE(request_.has_layout());
}

TEST_F(CountModelCommand, SendsAConfigFromStandardInput) {
  EXPECT_EQ(Run({"-"}, "{}").exit_code, kExitFits);
  EXPECT_EQ(request_.model().hugging_face_config(), "{}");
}

TEST_F(CountModelCommand, PrintsJsonThatReadsBackAsTheResponse) {
  response_.mutable_flops()->add_masks()->set_model_flops_per_token(0.1);
  const Ran ran = Run({"gpt2", "--sequence=8", "--output=json"});
  EXPECT_EQ(ran.exit_code, kExitFits) << ran.err;
  v1::CountModelResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ran.out, &read).ok()) << ran.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, response_));
}

TEST_F(CountModelCommand, NamesTheFlagAtFault) {
  status_ = FieldInvalid("step.sequences[0].length", "is wrong");
  const Ran ran = Run({"gpt2", "--sequence=0"});
  EXPECT_EQ(ran.exit_code, kExitBadRequest);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "sextant: INVALID_ARGUMENT: correct 1 field\n"
            "  --sequence, entry 1 (length): is wrong\n");
  // Programs get the API's own path.
  EXPECT_EQ(nlohmann::json::parse(Run({"gpt2", "--sequence=0", "--output=json"}).err)
                .at("field_violations")
                .at(0)
                .at("field"),
            "step.sequences[0].length");
}

TEST_F(CountModelCommand, ExplainsFlagsByFlags) {
  status_ = FieldInvalid("layout.pipeline_parallel_size", "or say it in layers_per_chunk");
  EXPECT_THAT(Run({"gpt2", "--pp=5"}).err, HasSubstr("--pp: or say it in --layers-per-chunk\n"));
  EXPECT_THAT(Run({"gpt2", "--pp=5", "--output=json"}).err, HasSubstr("in layers_per_chunk\""));
}

TEST_F(CountModelCommand, SaysThatTargetsWereDefaults) {
  status_ = FieldInvalid("model.changes.adapters.targets[0]", "is not a matrix");
  const std::string hint = "attention.query,attention.value is the default of --lora-targets";
  EXPECT_THAT(Run({"gpt2", "--lora-rank=8"}).err,
              HasSubstr("  --lora-targets, entry 1: is not a matrix\n  " + hint));
  EXPECT_THAT(Run({"gpt2", "--lora-rank=8", "--lora-targets=a"}).err, Not(HasSubstr(hint)));
  status_ = FieldInvalid("model.changes.adapters.rank", "is too large");
  EXPECT_THAT(Run({"gpt2", "--lora-rank=8"}).err, Not(HasSubstr(hint)));
}

TEST_F(CountModelCommand, TakesNoAnswerWithoutWhatWasAsked) {
  EXPECT_THAT(Run({"gpt2", "--sequence=8"}).err, HasSubstr("the answer holds no FLOPs"));
  const Ran ran = Run({"gpt2", "--tp=8"});
  EXPECT_EQ(ran.exit_code, kExitInternal);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("the answer holds no stages"));
  response_.Clear();
  EXPECT_THAT(Run({"gpt2"}).err, HasSubstr("the answer holds no parameters"));
}

TEST_F(CountModelCommand, OfAnOlderServerSaysSo) {
  const FakeServer server(AccountingHandlers{});
  const Ran ran = RunWith({"count", "gpt2", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, kExitInternal);
  EXPECT_THAT(ran.err, HasSubstr("an older sextantd"));
}

TEST_F(CountModelCommand, RefusesWhatItCantRead) {
  const Ran ran = Run({"-"}, "");
  EXPECT_EQ(ran.exit_code, kExitBadRequest);
  EXPECT_THAT(ran.err, HasSubstr("(REQUEST_MALFORMED): standard input: the file holds no text"));
}

}  // namespace
}  // namespace sextant::client
