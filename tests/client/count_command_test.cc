// `sextant count` from its arguments to the exit code, against a fake server.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/support/error_details.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/exit_code.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/client/fake_server.h"

namespace sextant {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

grpc::Status FieldIsWrong(const std::string& field, const std::string& description) {
  google::rpc::BadRequest bad_request;
  auto* violation = bad_request.add_field_violations();
  violation->set_field(field);
  violation->set_description(description);
  google::rpc::Status details;
  details.set_code(grpc::StatusCode::INVALID_ARGUMENT);
  details.add_details()->PackFrom(bad_request);
  grpc::Status status;
  EXPECT_TRUE(grpc::SetErrorDetails(details, &status).ok());
  return status;
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
  status_ = FieldIsWrong("step.sequences[0].length", "is wrong");
  const Ran ran = Run({"gpt2", "--sequence=0"});
  EXPECT_EQ(ran.exit_code, kExitBadRequest);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "sextant: INVALID_ARGUMENT: mend 1 field\n"
            "  --sequence, entry 1 (length): is wrong\n");
  // Programs get the API's own path.
  EXPECT_EQ(nlohmann::json::parse(Run({"gpt2", "--sequence=0", "--output=json"}).err)
                .at("field_violations")
                .at(0)
                .at("field"),
            "step.sequences[0].length");
}

TEST_F(CountModelCommand, ExplainsFlagsByFlags) {
  status_ = FieldIsWrong("layout.pipeline_parallel_size", "or say it in layers_per_chunk");
  EXPECT_THAT(Run({"gpt2", "--pp=5"}).err, HasSubstr("--pp: or say it in --layers-per-chunk\n"));
  EXPECT_THAT(Run({"gpt2", "--pp=5", "--output=json"}).err, HasSubstr("in layers_per_chunk\""));
}

TEST_F(CountModelCommand, SaysThatTargetsWereDefaults) {
  status_ = FieldIsWrong("model.changes.adapters.targets[0]", "is no matrix");
  const std::string hint = "attention.query,attention.value is the default of --lora-targets";
  EXPECT_THAT(Run({"gpt2", "--lora-rank=8"}).err,
              HasSubstr("  --lora-targets, entry 1: is no matrix\n  " + hint));
  EXPECT_THAT(Run({"gpt2", "--lora-rank=8", "--lora-targets=a"}).err, Not(HasSubstr(hint)));
  status_ = FieldIsWrong("model.changes.adapters.rank", "is too large");
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
}  // namespace sextant
