// The program from its arguments to its exit code, against a fake server: what works.
#include "client/command/run_client.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "client/io/call.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_front.h"
#include "tests/client/sample_plan.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

PlanHandler Answers(const v1::PlanRunResponse& answer) {
  return [answer](grpc::ServerContext*, const v1::PlanRunRequest&, v1::PlanRunResponse* response) {
    *response = answer;
    return grpc::Status::OK;
  };
}

TEST(Plan, ThatFitsPrintsItAndSucceeds) {
  v1::PlanRunRequest got;
  const FakeServer server([&got](grpc::ServerContext*, const v1::PlanRunRequest& request,
                                 v1::PlanRunResponse* response) {
    got = request;
    *response = SampleResponse();
    return grpc::Status::OK;
  });
  const Ran ran = RunWith({"plan", "toy", "--tokens=20e9", "--activation-bytes=8GB",
                           "--accelerator=h100-sxm", "--devices=8", "--device-hour-price-usd=2",
                           "--device-power-watts=700", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(
      ran.out,
      StartsWith("FITS: toy (1,000,000,000 parameters), 20,000,000,000 tokens, 8 x h100-sxm\n"));
  EXPECT_EQ(ran.err, "");
  v1::PlanRunRequest expect = SampleRequest();
  expect.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  EXPECT_TRUE(MessageDifferencer::Equals(got, expect)) << got.DebugString();
}

// No ground to launch a run on: neither "fits" nor "does not fit".
TEST(Plan, OfModelStateAloneHasAnExitCodeOfItsOwn) {
  const FakeServer server(Answers(SampleOfModelState()));
  const Ran ran = RunWith({"plan", "toy", "--devices=8", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 8);
  EXPECT_THAT(ran.out, StartsWith("STATE FITS: toy (1,000,000,000 parameters), "));
  EXPECT_THAT(ran.out,
              HasSubstr("\n  counts  model state; no activations; divided over all devices\n"));
  EXPECT_EQ(ran.err, "");
}

TEST(Plan, ShowsAllUnlessLessIsAskedFor) {
  Answering<v1::PlanRunRequest, v1::PlanRunResponse> answering;
  answering.response = BasicView(SampleResponse());
  const FakeServer server(answering.handler());
  const auto view_of = [&](const std::vector<std::string>& flags, const std::string& input = "") {
    std::vector<std::string> args = {"plan", "--address", server.address()};
    args.insert(args.end(), flags.begin(), flags.end());
    const Ran ran = RunWith(args, input);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("toy"));
    return answering.request.options().view();
  };
  EXPECT_EQ(view_of({}), v1::PLAN_VIEW_FULL);
  EXPECT_EQ(view_of({"--output=json"}), v1::PLAN_VIEW_FULL);
  EXPECT_EQ(view_of({"--view=basic"}), v1::PLAN_VIEW_BASIC);
  const char* basic = R"({"options": {"view": "PLAN_VIEW_BASIC"}})";
  EXPECT_EQ(view_of({"--request=-"}, basic), v1::PLAN_VIEW_BASIC);
  EXPECT_EQ(view_of({"--request=-", "--view=full"}, basic), v1::PLAN_VIEW_FULL);
}

TEST(Plan, ThatDoesNotFitIsAnAnswerOfItsOwn) {
  const FakeServer server(Answers(SampleThatDoesNotFit()));
  const Ran ran =
      RunWith({"--address", server.address(), "plan", "toy", "--devices=1", "--accelerator=a10"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(
      ran.out,
      StartsWith("DOES NOT FIT: toy (1,000,000,000 parameters), 20,000,000,000 tokens, 8 x\n"));
  EXPECT_EQ(ran.err, "");
}

TEST(Plan, DrawsItsStepIntoAFile) {
  const FakeServer server(Answers(SampleOfStep()));
  const std::string file = TemporaryFile("step.svg");
  const Ran ran = RunWith({"plan", "toy", "--tp=2", "--svg", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("FITS: toy"));
  std::ifstream in(file);
  std::stringstream svg;
  svg << in.rdbuf();
  EXPECT_THAT(svg.str(), HasSubstr(">One step: toy, 8 x h100-sxm<"));
}

TEST(Plan, WithoutAStepIsNoDrawing) {
  v1::PlanRunResponse response = SampleResponse();
  v1::PlanRunResponse open = response;
  v1::Note* note = open.mutable_plan()->add_warnings();
  note->set_kind(v1::NOTE_KIND_STEP_NOT_PREDICTED);
  note->add_fields("cluster.network");
  note->set_text("Give cluster.network.");
  const std::string file = TemporaryFile("no_step.svg");
  for (const auto& [answer, words] :
       {std::pair{response, "the plan lacks: it takes a layout, e.g. --tp, and --sequence-length"},
        {open, "the plan lacks: Give --network."}}) {
    const FakeServer server(Answers(answer));
    const Ran ran = RunWith({"plan", "toy", "--svg", file, "--address", server.address()});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(words));
    EXPECT_FALSE(std::ifstream(file).good());
  }
}

TEST(Search, DrawsItsFrontIntoAFile) {
  v1::PlanRunResponse response = SampleResponse();
  *response.mutable_plan()->mutable_search() = SampleFront().search();
  const FakeServer server(Answers(response));
  const std::string file = TemporaryFile("front.svg");
  const Ran ran = RunWith({"search", "toy", "--svg", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\nTime against memory\n"));
  std::ifstream in(file);
  std::stringstream svg;
  svg << in.rdbuf();
  EXPECT_THAT(svg.str(), HasSubstr(">Time against memory: toy, 8 x h100-sxm<"));
}

TEST(Search, WithoutALayoutThatFitsIsNoDrawing) {
  v1::PlanRunResponse searched = SampleThatDoesNotFit();
  searched.mutable_plan()->mutable_search()->mutable_chosen();
  const std::string file = TemporaryFile("no_front.svg");
  for (const auto& [answer, words] : {std::pair{searched, "that fit: no layout fits"},
                                      {SampleResponse(), "that fit: nothing was searched for"}}) {
    const FakeServer server(Answers(answer));
    const Ran ran = RunWith({"search", "toy", "--svg", file, "--address", server.address()});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(words));
    EXPECT_FALSE(std::ifstream(file).good());
  }
}

TEST(Search, DrawsNoBasicView) {
  v1::PlanRunResponse response = SampleResponse();
  *response.mutable_plan()->mutable_search() = SampleFront().search();
  response.mutable_plan()->mutable_search()->clear_front();
  const FakeServer server(Answers(response));
  const Ran ran = RunWith({"search", "toy", "--view=basic", "--svg", TemporaryFile("no_front.svg"),
                           "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("that fit: it takes --view=full"));
}

TEST(Plan, PrintsJsonThatReadsBackAsTheResponse) {
  const FakeServer server(Answers(SampleThatDoesNotFit()));
  const Ran ran = RunWith({"plan", "toy", "--output=json", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 1);
  v1::PlanRunResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ran.out, &read).ok()) << ran.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleThatDoesNotFit()));
  EXPECT_THAT(ran.out, HasSubstr("\"usable_bytes\": \"10000000000\""));
}

TEST(Plan, ReadsItsRequestFromStandardInput) {
  v1::PlanRunRequest got;
  const FakeServer server([&got](grpc::ServerContext*, const v1::PlanRunRequest& request,
                                 v1::PlanRunResponse* response) {
    got = request;
    *response = SampleResponse();
    return grpc::Status::OK;
  });
  const Ran ran = RunWith({"plan", "--request=-", "--devices=8", "--address", server.address()},
                          R"({"model": {"preset": "toy"}, "cluster": {"device_count": 2}})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(got.model().preset(), "toy");
  EXPECT_EQ(got.cluster().device_count(), 8);
}

TEST(Plan, TakesTheAddressFromTheEnvironment) {
  const FakeServer server(Answers(SampleResponse()));
  setenv("SEXTANT_ADDRESS", server.address().c_str(), /*overwrite=*/1);
  const Ran ran = RunWith({"plan", "toy"});
  setenv("SEXTANT_ADDRESS", "unix:/nonexistent/sextant.sock", /*overwrite=*/1);
  const Ran overridden = RunWith({"plan", "toy", "--address", server.address()});
  unsetenv("SEXTANT_ADDRESS");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(overridden.exit_code, 0) << overridden.err;
}

TEST(Plan, TellsTheServerItsDeadline) {
  double seconds_left = 0;
  const FakeServer server([&seconds_left](grpc::ServerContext* context, const v1::PlanRunRequest&,
                                          v1::PlanRunResponse* response) {
    const auto left = context->deadline() - std::chrono::system_clock::now();
    seconds_left = std::chrono::duration<double>(left).count();
    *response = SampleResponse();
    return grpc::Status::OK;
  });
  EXPECT_EQ(RunWith({"plan", "--timeout=1000", "--address", server.address()}).exit_code, 0);
  EXPECT_GT(seconds_left, 10);    // more than the default
  EXPECT_LE(seconds_left, 1100);  // gRPC sends few digits, rounded up
}

// Text from a server must not steer the terminal.
TEST(Plan, PrintsNoControlCharacters) {
  v1::PlanRunResponse response = SampleResponse();
  response.mutable_plan()->set_model_name("toy\x1b[2J");
  const FakeServer server(Answers(response));
  const Ran ran = RunWith({"plan", "--address", server.address()});
  EXPECT_THAT(ran.out, StartsWith("FITS: toy?[2J ("));
}

ListHandler Lists(std::string* name) {
  return [name](grpc::ServerContext*, const v1::ListAcceleratorsRequest& request,
                v1::ListAcceleratorsResponse* response) {
    *name = request.has_name() ? request.name() : "(all)";
    *response = SampleAccelerators();
    return grpc::Status::OK;
  };
}

TEST(Accelerators, AreATableWithoutANameAndSourcesWithOne) {
  std::string name;
  const FakeServer server(nullptr, Lists(&name));
  const Ran all = RunWith({"accelerators", "--address", server.address()});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(name, "(all)");
  EXPECT_THAT(all.out, StartsWith("name      memory"));
  const Ran sources = RunWith({"accelerators", "--sources", "--address", server.address()});
  EXPECT_EQ(name, "(all)");
  EXPECT_THAT(sources.out, HasSubstr("datasheet A"));
  const Ran one = RunWith({"accelerators", "H100 SXM", "--address", server.address()});
  EXPECT_EQ(name, "H100 SXM");
  EXPECT_EQ(one.out, sources.out);
}

TEST(Accelerators, AreTheResponseInJson) {
  std::string name;
  const FakeServer server(nullptr, Lists(&name));
  const Ran ran = RunWith({"accelerators", "--output=json", "--address", server.address()});
  v1::ListAcceleratorsResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ran.out, &read).ok()) << ran.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleAccelerators()));
}

TEST(Version, NamesBothPrograms) {
  std::string name;
  const FakeServer server(nullptr, Lists(&name));
  const Ran ran = RunWith({"version", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, absl::StrCat("sextant   ", ClientVersion(), "\nsextantd  0.1.0 at ",
                                  server.address(), "\n"));
  const Ran json = RunWith({"version", "--output=json", "--address", server.address()});
  EXPECT_EQ(nlohmann::json::parse(json.out).at("engine_version"), "0.1.0");
}

TEST(Version, SucceedsWithoutAServer) {
  const Ran ran = RunWith({"version", "--address=unix:/nonexistent/sextant.sock"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("no answer from unix:/nonexistent/sextant.sock (UNAVAILABLE)"));
  const Ran json =
      RunWith({"version", "--output=json", "--address=unix:/nonexistent/sextant.sock"});
  EXPECT_TRUE(nlohmann::json::parse(json.out).at("engine_version").is_null());
}

}  // namespace
}  // namespace sextant::client
