// The program from its arguments to its exit code: what goes wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/command/run_client.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a command prints when the server refuses its plan.
Ran Refused(const grpc::Status& status, std::vector<std::string> args) {
  args.insert(args.begin(), "plan");
  return PlanServer(status).Run(args);
}

grpc::Status WrongField(const std::string& field) {
  return Refusal(grpc::StatusCode::INVALID_ARGUMENT, "FIELD_INVALID", field, "must be at least 1");
}

TEST(PlanError, NamesTheFieldAtFault) {
  const Ran ran = Refused(WrongField("cluster.device_count"), {"--devices=0"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "sextant: INVALID_ARGUMENT (FIELD_INVALID): correct 1 field\n"
            "  --devices: must be at least 1\n");
}

TEST(PlanError, SaysThatTargetsWereDefaults) {
  const grpc::Status status = WrongField("model.changes.adapters.targets[1]");
  const std::string hint = "attention.query,attention.value is the default of --lora-targets";
  EXPECT_THAT(Refused(status, {"--lora-rank=8"}).err, HasSubstr(hint));
  EXPECT_THAT(Refused(status, {"--lora-rank=8", "--lora-targets=attention.output"}).err,
              Not(HasSubstr(hint)));
}

// The server's words name no command: the client adds the one that helps.
TEST(PlanError, NamesTheCommandThatHelps) {
  const Ran ran = Refused(Refusal(grpc::StatusCode::FAILED_PRECONDITION, "RATES_NOT_MEASURED"), {});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("refused\n  sextant probe measures"));
}

TEST(PlanError, IsJsonForPrograms) {
  const Ran ran = Refused(WrongField("cluster.device_count"), {"--output=json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(nlohmann::json::parse(ran.err).at("field_violations").at(0).at("field"),
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
      RunClient({"plan", "--address", server.address()}, {.in = in, .out = broken, .err = err}), 6);
  EXPECT_EQ(err.str(), "sextant: cannot write the answer\n");
}

}  // namespace
}  // namespace sextant::client
