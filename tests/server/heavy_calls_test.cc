// Calls that the server answers on its own threads: large answers, and callers who leave.
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/handler/accounting_service.h"
#include "server/handler/planning_service.h"
#include "server/metrics/metrics.h"
#include "tests/server/json_call.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

// A chain of as many norms as a graph may have, each name longer by `padding` bytes than necessary.
json ChainOfNorms(size_t padding) {
  const json x = {{"name", "x"}, {"shape", {2, 2}}};
  const json w = {{"name", "w"}, {"shape", {2}}, {"parameter", true}};
  json graph = {{"data_type", "DATA_TYPE_BF16"},
                {"tensors", json::array({x, w})},
                {"operations", json::array()}};
  std::string last = "x";
  for (int i = 0; i < 4096; ++i) {
    std::string name = absl::StrCat(i, std::string(padding, '-'));
    graph["operations"].push_back({{"name", name},
                                   {"operation", {{"layer_norm", json::object()}}},
                                   {"inputs", {last, "w", "w"}}});
    last = std::move(name);
  }
  return graph;
}

TEST(HeavyCalls, AnAnswerThatIsTooLargeIsRefusedInWords) {
  const TestServer server;
  json answer;
  const auto call = [&](size_t padding) {
    return CallJson(server, "AccountingService/AnalyzeGraph", {{"graph", ChainOfNorms(padding)}},
                    &answer);
  };
  const grpc::Status refused = call(60);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("at most 4194304 are sent"));
  EXPECT_THAT(refused.error_details(), HasSubstr("ANSWER_TOO_LARGE"));
  const grpc::Status answered = call(0);
  EXPECT_TRUE(answered.ok()) << answered.error_message();
  EXPECT_EQ(answer["operations"].size(), 4096u);
}

using RawGraph =
    v1::AccountingService::WithRawCallbackMethod_AnalyzeGraph<v1::AccountingService::Service>;

// Forwards AnalyzeGraph, and records the context of each call.
class ObservedService final : public RawGraph {
 public:
  explicit ObservedService(AccountingService& service) : service_(service) {}

  grpc::ServerUnaryReactor* AnalyzeGraph(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override {
    grpc::ServerUnaryReactor* const reactor = service_.AnalyzeGraph(context, request, response);
    arrived_.set_value(context);
    return reactor;
  }
  grpc::CallbackServerContext* WaitForCall() { return arrived_.get_future().get(); }

 private:
  AccountingService& service_;
  std::promise<grpc::CallbackServerContext*> arrived_;
};

double CancelledCalls(const prometheus::Registry& registry) {
  double calls = 0;
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      for (const prometheus::ClientMetric::Label& label : metric.label) {
        if (label.value == "CANCELLED") calls += metric.counter.value;
      }
    }
  }
  return calls;
}

TEST(HeavyCalls, NothingIsWorkedOutForACallerWhoHasLeft) {
  prometheus::Registry registry;
  Metrics metrics(registry);
  WorkerPool workers({.threads = 1});
  std::promise<void> released;
  workers.Post("", [&released](const absl::Status&) { released.get_future().wait(); });
  AccountingService service(metrics, {.calibrations = {}, .now = {}, .workers = &workers});
  ObservedService observed(service);
  grpc::ServerBuilder builder;
  builder.RegisterService(&observed);
  const auto server = builder.BuildAndStart();

  grpc::ClientContext context;
  const auto stub = v1::AccountingService::NewStub(server->InProcessChannel({}));
  std::thread caller([&] {
    v1::AnalyzeGraphResponse response;
    EXPECT_EQ(stub->AnalyzeGraph(&context, {}, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  const grpc::CallbackServerContext* const waiting = observed.WaitForCall();
  context.TryCancel();
  caller.join();
  while (!waiting->IsCancelled()) std::this_thread::yield();
  released.set_value();
  server->Shutdown();
  server->Wait();
  EXPECT_EQ(CancelledCalls(registry), 1);
}

// A pool that takes nothing refuses the call before it is read.
TEST(HeavyCalls, LargeRequestsOfStreamsAreReadOnWorkers) {
  prometheus::Registry registry;
  Metrics metrics(registry);
  WorkerPool full({.threads = 1, .max_waiting = 0});
  WorkerPool workers({.threads = 1});
  SuppliedCalibrations supplied;
  const auto host = std::make_shared<const CalibrationSnapshot>();
  PlanningService service(metrics, {.calls = {.large_calls = &full},
                                    .calibrations = [host] { return host; },
                                    .now = absl::Now,
                                    .supplied = &supplied,
                                    .workers = &workers,
                                    .searches = &workers});
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::PlanningService::NewStub(server->InProcessChannel({}));
  const auto code_of = [&stub](size_t name_bytes) {
    v1::PlanRunRequest request;
    request.mutable_model()->set_preset(std::string(name_bytes, 'x'));
    grpc::ClientContext context;
    return stub->WatchPlanRun(&context, request)->Finish().error_code();
  };
  EXPECT_EQ(code_of(1000), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code_of(100'000), grpc::StatusCode::RESOURCE_EXHAUSTED);
  server->Shutdown();
}

}  // namespace
}  // namespace sextant::server
