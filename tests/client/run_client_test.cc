// The program from its arguments to its exit code, against a fake server.
#include "client/command/run_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/io/call.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// No ground to launch a run on: neither "fits" nor "does not fit".
TEST(Plan, HasAnExitCodeAVerdict) {
  const std::pair<v1::Verdict, int> cases[] = {{v1::VERDICT_FITS, 0},
                                               {v1::VERDICT_DOES_NOT_FIT, 1},
                                               {v1::VERDICT_TIGHT, 7},
                                               {v1::VERDICT_STATE_FITS, 8}};
  for (const auto& [verdict, exit_code] : cases) {
    PlanServer server(SamplePlan(verdict));
    const Ran ran = server.Run({"plan", "toy", "--devices=8"});
    EXPECT_EQ(ran.exit_code, exit_code);
    EXPECT_THAT(ran.out, HasSubstr(": toy (1,000,000,000 parameters), "));
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(server.Run({"plan", "toy", "--output=json"}).exit_code, exit_code);
  }
}

// Beyond the 80 % interval of what is expected, a tenth of a normal distribution is left.
TEST(Plan, SaysFirstThatALimitIsMissedAndExitsByIt) {
  const struct {
    double days;
    double chance;
    std::string first;
    int exit_code;
  } cases[] = {{-16.9, 0.099, "FITS, DEADLINE MISSED by 16.9 days: toy (", 9},
               {-16.9, 0.101, "FITS, DEADLINE LIKELY MISSED by 16.9 days: toy (", 9},
               {16.9, 0.899, "FITS, DEADLINE MAY BE MISSED: toy (", 0},
               {16.9, 0.901, "FITS: toy (", 0}};
  for (const auto& c : cases) {
    v1::PlanRunResponse answer = SamplePlan();
    SetDeadline(c.days * 86400, c.chance, answer.mutable_plan());
    PlanServer server(answer);
    for (const char* const command : {"plan", "search"}) {
      const Ran ran = server.Run({command, "toy"});
      EXPECT_THAT(ran.out, StartsWith(c.first));
      EXPECT_EQ(ran.exit_code, c.exit_code) << c.first;
    }
    EXPECT_EQ(server.Run({"plan", "toy", "--output=json"}).exit_code, c.exit_code) << c.first;
  }
}

// Who launches what is late all the same must not launch what does not fit.
TEST(Plan, ThatDoesNotFitSaysSoBeforeItIsLate) {
  const std::pair<v1::Verdict, int> cases[] = {
      {v1::VERDICT_DOES_NOT_FIT, 1}, {v1::VERDICT_TIGHT, 9}, {v1::VERDICT_STATE_FITS, 9}};
  for (const auto& [verdict, exit_code] : cases) {
    v1::PlanRunResponse answer = SamplePlan(verdict);
    SetDeadline(-86400, 0, answer.mutable_plan());
    PlanServer server(answer);
    const Ran ran = server.Run({"plan", "toy"});
    EXPECT_EQ(ran.exit_code, exit_code);
    EXPECT_THAT(ran.out.substr(0, ran.out.find('\n')), HasSubstr(", DEADLINE MISSED by "));
  }
}

// An estimate without an interval has no chance.
TEST(Plan, OverItsBudgetByTheTextbookExitsByIt) {
  v1::PlanRunResponse answer = SamplePlan();
  SetDeadline(86400, 1, answer.mutable_plan());
  v1::LimitCheck& budget = *answer.mutable_plan()->mutable_estimates(0)->mutable_budget();
  budget.set_verdict(v1::LimitCheck::VERDICT_MISSED);
  budget.set_margin(-1234.5);
  PlanServer late(answer);
  const Ran ran = late.Run({"plan", "toy"});
  EXPECT_THAT(ran.out, StartsWith("FITS, BUDGET MISSED by 1,234.50 USD: toy ("));
  EXPECT_EQ(ran.exit_code, 9);
  answer.mutable_plan()->mutable_whole_run()->set_basis(v1::ESTIMATE_KIND_TEXTBOOK);
  PlanServer of_another_estimate(answer);
  EXPECT_EQ(of_another_estimate.Run({"plan", "toy"}).exit_code, 0);
}

TEST(Plan, ShowsAllUnlessLessIsAskedFor) {
  PlanServer server(SamplePlan());
  const auto view_of = [&](std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), "plan");
    EXPECT_EQ(server.Run(args, input).exit_code, 0);
    return server.request().options().view();
  };
  EXPECT_EQ(view_of({}), v1::PLAN_VIEW_FULL);
  EXPECT_EQ(view_of({"--output=json"}), v1::PLAN_VIEW_FULL);
  EXPECT_EQ(view_of({"--view=basic"}), v1::PLAN_VIEW_BASIC);
  const char* basic = R"({"options": {"view": "PLAN_VIEW_BASIC"}})";
  EXPECT_EQ(view_of({"--request=-"}, basic), v1::PLAN_VIEW_BASIC);
  EXPECT_EQ(view_of({"--request=-", "--view=full"}, basic), v1::PLAN_VIEW_FULL);
}

// Expects `args` to fail with `words`, and to write no picture.
void ExpectNoDrawing(const v1::PlanRunResponse& answer, std::vector<std::string> args,
                     const std::string& words) {
  PlanServer server(answer);
  const std::string file = TemporaryFile("none.svg");
  args.insert(args.end(), {"--svg", file});
  const Ran ran = server.Run(args);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr(words));
  EXPECT_FALSE(std::ifstream(file).good());
}

TEST(Plan, WithoutAStepIsNoDrawing) {
  v1::PlanRunResponse open = SamplePlan();
  *open.mutable_plan()->add_warnings() = FromText<v1::Note>(
      "kind: NOTE_KIND_STEP_NOT_PREDICTED fields: 'cluster.network' text: 'Give cluster.network.'");
  ExpectNoDrawing(SamplePlan(), {"plan", "toy"},
                  "the plan lacks: it takes a layout, e.g. --tp, and --sequence-length");
  ExpectNoDrawing(open, {"plan", "toy"}, "the plan lacks: Give --network.");
}

TEST(Search, WithoutALayoutThatFitsIsNoDrawing) {
  v1::PlanRunResponse none = SamplePlan(v1::VERDICT_DOES_NOT_FIT);
  none.mutable_plan()->mutable_search()->mutable_chosen();
  ExpectNoDrawing(none, {"search", "toy"}, "that fit: no layout fits");
  ExpectNoDrawing(SamplePlan(), {"search", "toy"}, "that fit: nothing was searched for");
  v1::PlanRunResponse brief = SamplePlan();
  *brief.mutable_plan() = SampleFront();
  brief.mutable_plan()->mutable_search()->clear_front();
  ExpectNoDrawing(brief, {"search", "toy", "--view=basic"}, "that fit: it takes --view=full");
}

TEST(Plan, PrintsJsonThatReadsBackAsTheResponse) {
  PlanServer server(SampleStep());
  const Ran ran = server.Run({"plan", "toy", "--output=json"});
  ExpectSame(FromJson<v1::PlanRunResponse>(ran.out), SampleStep());
  EXPECT_THAT(ran.out, HasSubstr("\"usableBytes\": \"80000000000\""));
}

TEST(Plan, ReadsItsRequestFromStandardInput) {
  PlanServer server(SamplePlan());
  const Ran ran = server.Run({"plan", "--request=-", "--devices=8"},
                             R"({"model": {"preset": "toy"}, "cluster": {"device_count": 2}})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(server.request().model().preset(), "toy");
  EXPECT_EQ(server.request().cluster().device_count(), 8);
}

TEST(Plan, TakesTheAddressFromTheEnvironment) {
  Answering<v1::PlanRunRequest, v1::PlanRunResponse> plans = {.response = SamplePlan()};
  const FakeServer server(plans.handler());
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
    *response = SamplePlan();
    return grpc::Status::OK;
  });
  EXPECT_EQ(RunWith({"plan", "--timeout=1000", "--address", server.address()}).exit_code, 0);
  EXPECT_GT(seconds_left, 10);    // more than the default
  EXPECT_LE(seconds_left, 1100);  // gRPC sends few digits, rounded up
}

// Text from a server must not steer the terminal.
TEST(Plan, PrintsNoControlCharacters) {
  v1::PlanRunResponse response = SamplePlan();
  response.mutable_plan()->set_model_name("toy\x1b[2J");
  EXPECT_THAT(PlanServer(response).Run({"plan"}).out, StartsWith("FITS: toy?[2J ("));
}

// The clock is the test's.
TEST(Plan, SaysHowOldItsRatesAre) {
  v1::PlanRunResponse response = SamplePlan();
  *response.mutable_plan()->add_rates() = FromText<v1::RateUsed>(R"pb(
    quantity: "matmul_flops_per_second"
    unit: "FLOP/s"
    source: RATE_SOURCE_MEASURED_DEVICE
    measured_time { seconds: 1763726400 }
  )pb");
  EXPECT_THAT(PlanServer(response).Run({"plan", "-v"}).out,
              HasSubstr("2025-11-21 12:00:00 UTC, 24.0 hours ago"));
}

TEST(Version, NamesBothPrograms) {
  Answering<v1::ListAcceleratorsRequest, v1::ListAcceleratorsResponse> list;
  list.response.set_engine_version("0.1.0");
  const FakeServer server(nullptr, list.handler());
  const Ran ran = RunWith({"version", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, absl::StrCat("sextant   ", ClientVersion(), "\nsextantd  0.1.0 at ",
                                  server.address(), "\n"));
  const Ran json = RunWith({"version", "--output=json", "--address", server.address()});
  EXPECT_EQ(nlohmann::json::parse(json.out).at("engineVersion"), "0.1.0");
}

TEST(Version, SucceedsWithoutAServer) {
  const Ran ran = RunWith({"version", "--address=unix:/nonexistent/sextant.sock"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("no answer from unix:/nonexistent/sextant.sock (UNAVAILABLE)"));
  const Ran json =
      RunWith({"version", "--output=json", "--address=unix:/nonexistent/sextant.sock"});
  EXPECT_TRUE(nlohmann::json::parse(json.out).at("engineVersion").is_null());
}

// What a command prints when the server refuses its plan.
Ran RefusedPlan(const grpc::Status& status, std::vector<std::string> args) {
  args.insert(args.begin(), "plan");
  return PlanServer(status).Run(args);
}

grpc::Status WrongField(const std::string& field) {
  return Refusal(grpc::StatusCode::INVALID_ARGUMENT, "FIELD_INVALID", field, "must be at least 1");
}

TEST(PlanError, NamesTheFieldAtFault) {
  const Ran ran = RefusedPlan(WrongField("cluster.device_count"), {"--devices=0"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "sextant: INVALID_ARGUMENT (FIELD_INVALID): correct 1 field\n"
            "  --devices: must be at least 1\n");
}

// A flag has several names; the user knows the one that was typed.
TEST(PlanError, NamesTheFlagThatWasTyped) {
  const grpc::Status status =
      Refusal(grpc::StatusCode::INVALID_ARGUMENT, "FIELD_INVALID", "layout.global_batch_size",
              "must be a multiple of layout.micro_batch_size");
  const auto line = [&status](std::vector<std::string> args) {
    return RefusedPlan(status, std::move(args)).err;
  };
  EXPECT_THAT(line({"--gbs=3", "--mbs=2"}), HasSubstr("\n  --gbs: must be a multiple of --mbs\n"));
  EXPECT_THAT(line({"--global-batch-size=3", "--micro-batch-size=2"}),
              HasSubstr("\n  --global-batch-size: must be a multiple of --micro-batch-size\n"));
  EXPECT_THAT(line({"--train-batch-size=3"}),
              HasSubstr("\n  --train-batch-size: must be a multiple of --mbs\n"));
  EXPECT_THAT(RefusedPlan(WrongField("model.preset"), {"toy"}).err, HasSubstr("\n  MODEL: must"));
  EXPECT_THAT(RefusedPlan(WrongField("model.preset"), {"--model=toy"}).err,
              HasSubstr("\n  --model: must"));
  EXPECT_THAT(RefusedPlan(WrongField("model.preset"), {}).err, HasSubstr("\n  --preset: must"));
  const std::string file = FileWith("config.json", "{}");
  const grpc::Status config = WrongField("model.hugging_face_config.hidden_size");
  EXPECT_THAT(RefusedPlan(config, {file}).err, HasSubstr("\n  MODEL: hidden_size: must"));
  EXPECT_THAT(RefusedPlan(config, {"--config", file}).err,
              HasSubstr("\n  --config: hidden_size: must"));
}

TEST(PlanError, SaysThatTargetsWereDefaults) {
  const grpc::Status status = WrongField("model.changes.adapters.targets[1]");
  const std::string hint = "attention.query,attention.value is the default of --lora-targets";
  EXPECT_THAT(RefusedPlan(status, {"--lora-rank=8"}).err, HasSubstr(hint));
  EXPECT_THAT(RefusedPlan(status, {"--lora-rank=8", "--lora-targets=attention.output"}).err,
              Not(HasSubstr(hint)));
}

// The server's words name no command: the client adds the one that helps.
TEST(PlanError, NamesTheCommandThatHelps) {
  const Ran ran =
      RefusedPlan(Refusal(grpc::StatusCode::FAILED_PRECONDITION, "RATES_NOT_MEASURED"), {});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("refused\n  sextant probe measures"));
}

TEST(PlanError, IsJsonForPrograms) {
  const Ran ran = RefusedPlan(WrongField("cluster.device_count"), {"--output=json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(nlohmann::json::parse(ran.err).at("fieldViolations").at(0).at("field"),
            "cluster.device_count");
}

TEST(PlanError, SaysHowToReachAServer) {
  const Ran ran = RunWith({"plan", "toy", "--address=unix:/nonexistent/sextant.sock"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_THAT(ran.err, HasSubstr("sextant: UNAVAILABLE: "));
  EXPECT_THAT(ran.err, HasSubstr("is sextantd running at unix:/nonexistent/sextant.sock? start "
                                 "it, or set --address / SEXTANT_ADDRESS"));
}

// The handler answers only once the client has given up.
TEST(PlanError, ComesAtTheDeadline) {
  std::latch client_is_done(1);
  const FakeServer server([&client_is_done](grpc::ServerContext*, const v1::PlanRunRequest&,
                                            v1::PlanRunResponse* response) {
    client_is_done.wait();
    *response = SamplePlan();
    return grpc::Status::OK;
  });
  const Ran ran = RunWith({"plan", "--timeout=0.2", "--address", server.address()});
  client_is_done.count_down();
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("sextant: DEADLINE_EXCEEDED"));
  EXPECT_THAT(ran.err, HasSubstr("within 0.2 s; --timeout=SECONDS waits longer"));
}

TEST(PlanError, OfAnUnknownServiceIsNotOurs) {
  const FakeServer server(nullptr);
  const Ran ran = RunWith({"plan", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("is another program, an older sextantd, or of a role"));
}

// Neither "fits" nor "does not fit" may be made up.
TEST(PlanError, IsAnAnswerWithoutAVerdict) {
  for (const int verdict : {0, 99}) {
    PlanServer server(SamplePlan(static_cast<v1::Verdict>(verdict)));
    const Ran ran = server.Run({"plan"});
    EXPECT_EQ(ran.exit_code, 6) << verdict;
    EXPECT_EQ(ran.out, "") << verdict;
  }
}

TEST(PlanError, RefusesALargeRequestUnsent) {
  bool called = false;
  const FakeServer server(
      [&called](grpc::ServerContext*, const v1::PlanRunRequest&, v1::PlanRunResponse*) {
        called = true;
        return grpc::Status::OK;
      });
  const Ran ran =
      RunWith({"plan", std::string(size_t{1} << 20, 'x'), "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_FALSE(called);
  // 2^20 bytes of name, 4 + 4 of tags and lengths around it, and 2 + 2 of the view.
  EXPECT_EQ(ran.err,
            "sextant: INVALID_ARGUMENT (REQUEST_TOO_LARGE): the request takes 1048588 bytes; the "
            "limit is 1 MiB (1048576 bytes)\n");
}

TEST(AcceleratorsError, IsTheServers) {
  const FakeServer server(nullptr, [](grpc::ServerContext*, const v1::ListAcceleratorsRequest&,
                                      v1::ListAcceleratorsResponse*) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "\"h10\" is not known; near: h100-sxm");
  });
  const Ran ran = RunWith({"accelerators", "h10", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err, "sextant: NOT_FOUND: \"h10\" is not known; near: h100-sxm\n");
}

// A full disk: the answer is lost, so the exit code must not say "fits".
TEST(WriteError, IsNoSuccess) {
  const FakeServer server(
      [](grpc::ServerContext*, const v1::PlanRunRequest&, v1::PlanRunResponse* response) {
        *response = SamplePlan();
        return grpc::Status::OK;
      });
  std::istringstream in;
  std::ostream broken(nullptr);
  std::ostringstream err;
  EXPECT_EQ(
      RunClient({"plan", "--address", server.address()}, {.in = in, .out = broken, .err = err}), 2);
  EXPECT_EQ(err.str(), "sextant: cannot write the answer: Input/output error\n");
}

}  // namespace
}  // namespace sextant::client
