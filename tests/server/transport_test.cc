// Calls that no gRPC carries: what a handler learns of its caller, and how a call ends.
#include "server/call/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/reason.h"
#include "server/call/call.h"
#include "server/call/stream_call.h"
#include "server/handler/accounting_service.h"
#include "sextant/v1/hardware_service.pb.h"
#include "tests/server/fake_call.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using std::chrono::system_clock;
using ::testing::ElementsAre;

v1::RunProbeResponse Progress(const std::string& phase) {
  v1::RunProbeResponse out;
  out.mutable_progress()->set_phase(phase);
  return out;
}

class TransportTest : public ::testing::Test {
 protected:
  // An empty graph is refused, on a worker, where its call gets there.
  Ended EndOfGraph(FakeUnaryCall& call, const CallRules& rules = {}) {
    AccountingService service(
        metrics_, {.calls = rules, .calibrations = {}, .now = {}, .workers = &workers_});
    return Answer(service, "AnalyzeGraph", call);
  }
  absl::StatusCode CodeOfGraph(const FakeCaller& caller, const CallRules& rules = {}) {
    FakeUnaryCall call(caller, v1::AnalyzeGraphRequest());
    return EndOfGraph(call, rules).status.code();
  }
  Method Stream(const CallRules& rules) {
    return Method("sextant.v1.HardwareService/RunProbe", metrics_, rules, StreamHandler());
  }

  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  WorkerPool workers_{{.threads = 1}};
};

TEST_F(TransportTest, CarriesARequestAndItsAnswer) {
  AccountingService service(metrics_, {});
  v1::DescribeTokensRequest request;
  request.set_token_count(3);
  request.set_bytes_per_id(4);
  FakeUnaryCall call({}, request);
  EXPECT_TRUE(Answer(service, "DescribeTokens", call).status.ok());
  v1::DescribeTokensResponse response;
  ASSERT_TRUE(Decode(*call.response(), &response).ok());
  EXPECT_EQ(response.size_bytes(), 12);
}

TEST_F(TransportTest, EndsACallThatNobodyWaitsFor) {
  EXPECT_EQ(CodeOfGraph({}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOfGraph({.deadline = system_clock::now()}), absl::StatusCode::kDeadlineExceeded);
  FakeUnaryCall left({}, v1::AnalyzeGraphRequest());
  left.Cancel();
  EXPECT_EQ(EndOfGraph(left).status.code(), absl::StatusCode::kCancelled);
}

TEST_F(TransportTest, SaysWhoCalls) {
  const auto certificates = *Access::Load({.demands_certificate = true});
  EXPECT_EQ(CodeOfGraph({}, {.access = certificates.get()}), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CodeOfGraph({.certificate_name = "scheduler"}, {.access = certificates.get()}),
            absl::StatusCode::kInvalidArgument);
  const std::string file = TemporaryFile("tokens_of_transports");
  std::ofstream(file) << "scheduler 0123456789abcdef0123456789abcdef\n";
  const auto tokens = *Access::Load({.token_file = file});
  EXPECT_EQ(CodeOfGraph({}, {.access = tokens.get()}), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CodeOfGraph({.authorization = "Bearer 0123456789abcdef0123456789abcdef"},
                        {.access = tokens.get()}),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TransportTest, LetsOnlyThisHostProbe) {
  const auto access = *Access::Load({});
  Method method = Stream({.access = access.get()});
  const auto admission = [&method](const std::string& peer) {
    FakeStreamCall call({.peer = peer});
    return StreamCall(method, call, [] {}).admission();
  };
  for (const char* own : {"ipv4:127.0.0.1:5", "ipv6:%5B::1%5D:5", "unix:/run/sextant"}) {
    EXPECT_TRUE(admission(own).ok()) << own;
  }
  for (const char* remote : {"ipv4:192.0.2.7:5", "ipv6:%5B2001:db8::1%5D:5"}) {
    EXPECT_EQ(ReasonOf(admission(remote)), "IDENTITY_REFUSED") << remote;
  }
}

TEST_F(TransportTest, TellsTheCallersTraceWithAnError) {
  const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  FakeUnaryCall call({.traceparent = "00-" + trace_id + "-00f067aa0ba902b7-01"},
                     v1::AnalyzeGraphRequest());
  EXPECT_EQ(EndOfGraph(call).trace_id, trace_id);
}

TEST_F(TransportTest, CancelsACallWhoseAnswerIsNotRead) {
  UnreadAnswers unread;
  FakeUnaryCall call(FakeCaller{});
  EXPECT_TRUE(unread.Hold(call, UnreadAnswers::kSmallBytes).ok());
  const auto now = std::chrono::steady_clock::now();
  unread.EndOld(now);
  EXPECT_FALSE(call.IsCancelled());
  unread.EndOld(now + std::chrono::minutes(1));
  EXPECT_TRUE(call.IsCancelled());
  unread.Release(call);
}

TEST_F(TransportTest, GetsOneMessageAtATimeOfWhichTheLastProgress) {
  Method method = Stream({});
  FakeStreamCall transport(FakeCaller{});
  StreamCall call(method, transport, [] {});
  std::vector<std::string> phases;
  const auto take = [&] {
    phases.push_back(transport.written.progress().phase());
    call.OnWriteDone(true);
  };
  for (const char* phase : {"first", "second", "third"}) {
    EXPECT_TRUE(call.Send(Progress(phase), true).ok());
  }
  call.End(absl::OkStatus());
  take();
  take();
  EXPECT_THAT(phases, ElementsAre("first", "third"));
  EXPECT_TRUE(transport.End().status.ok());
}

}  // namespace
}  // namespace sextant::server
