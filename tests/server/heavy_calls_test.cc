// Calls that the server answers on its own threads: which those are, large answers, and callers who
// leave or don't read.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <prometheus/registry.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/memory_watch.h"
#include "server/call/grpc_service.h"
#include "server/call/unread_answers.h"
#include "server/handler/accounting_service.h"
#include "server/handler/planning_service.h"
#include "server/metrics/metrics.h"
#include "sextant/v1/accounting_service.grpc.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"
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

// Forwards AnalyzeGraph, and records the context of each call.
class ObservedService final : public Service {
 public:
  ObservedService(AccountingService& service, Metrics& metrics)
      : Service(service.name(), metrics, {}) {
    for (Method& method : service.methods()) {
      if (method.name != "sextant.v1.AccountingService/AnalyzeGraph") continue;
      Add("AnalyzeGraph", UnaryHandler([this, &method](Method& its, UnaryTransport& transport) {
            std::get<UnaryHandler>(method.handler)(its, transport);
            arrived_.set_value(&transport);
          }));
    }
  }

  const CallContext* WaitForCall() { return arrived_.get_future().get(); }

 private:
  std::promise<const CallContext*> arrived_;
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
  ObservedService observed(service, metrics);
  GrpcService grpc_service(observed);
  grpc::ServerBuilder builder;
  builder.RegisterService(&grpc_service);
  const auto server = builder.BuildAndStart();

  grpc::ClientContext context;
  const auto stub = v1::AccountingService::NewStub(server->InProcessChannel({}));
  std::thread caller([&] {
    v1::AnalyzeGraphResponse response;
    EXPECT_EQ(stub->AnalyzeGraph(&context, {}, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  const CallContext* const waiting = observed.WaitForCall();
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
  auto host = std::make_shared<const CalibrationSnapshot>();
  PlanningService service(metrics, {.calls = {.large_calls = &full},
                                    .calibrations = [host] { return host; },
                                    .now = absl::Now,
                                    .supplied = &supplied,
                                    .workers = &workers,
                                    .short_searches = &workers,
                                    .searches = &workers});
  GrpcService grpc_service(service);
  grpc::ServerBuilder builder;
  builder.RegisterService(&grpc_service);
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

v1::PlanRunRequest LaidOut(const char* preset) {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset(preset);
  out.mutable_training()->set_sequence_length(8192);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(16);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return out;
}

template <typename Change>
v1::PlanRunRequest With(Change change) {
  v1::PlanRunRequest out = LaidOut("llama-3.1-70b");
  change(out);
  return out;
}

void AddKinds(int count, v1::ModelSpec* model) {
  for (int i = 0; i < count; ++i) model->mutable_architecture()->add_layer_kinds();
}

TEST(ShortPlan, HasFewStagesAndTokensAndNoExperts) {
  EXPECT_TRUE(IsShort(LaidOut("llama-3.1-70b")));
  EXPECT_FALSE(IsShort(LaidOut("deepseek-v3")));
  EXPECT_FALSE(IsShort(With(
      [](auto& run) { run.mutable_layout()->mutable_parallel()->set_virtual_stage_count(2); })));
  EXPECT_TRUE(IsShort(With([](auto& run) { run.mutable_layout()->set_micro_batch_size(128); })));
  EXPECT_FALSE(IsShort(With([](auto& run) { run.mutable_layout()->set_micro_batch_size(129); })));
  EXPECT_FALSE(
      IsShort(With([](auto& run) { run.mutable_options()->set_include_operations(true); })));
  EXPECT_FALSE(IsShort(
      With([](auto& run) { run.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED); })));
}

TEST(ShortPlan, WithoutALayoutIsOfFewKindsAndBytes) {
  v1::PlanRunRequest run = LaidOut("deepseek-v3");
  run.clear_layout();
  EXPECT_TRUE(IsShort(run));
  run.mutable_model()->set_preset(std::string(16'384, 'x'));
  EXPECT_FALSE(IsShort(run));
  run.mutable_model()->clear_preset();
  AddKinds(16, run.mutable_model());
  EXPECT_TRUE(IsShort(run));
  AddKinds(1, run.mutable_model());
  EXPECT_FALSE(IsShort(run));
}

TEST(ShortCount, IsOfFewKindsAndStages) {
  v1::CountModelRequest count;
  count.mutable_layout()->set_pipeline_parallel_size(64);
  AddKinds(16, count.mutable_model());
  EXPECT_TRUE(IsShort(count));
  count.mutable_layout()->set_pipeline_parallel_size(65);
  EXPECT_FALSE(IsShort(count));
  count.mutable_layout()->set_pipeline_parallel_size(1);
  AddKinds(1, count.mutable_model());
  EXPECT_FALSE(IsShort(count));
}

TEST(ShortCall, HasNothingMeasured) {
  v1::AllocateComputeRequest allocate;
  EXPECT_TRUE(IsShort(allocate));
  allocate.mutable_cluster()->mutable_device()->mutable_calibrations();
  EXPECT_FALSE(IsShort(allocate));
  v1::AnalyzeOperationRequest operation;
  operation.mutable_operation()->mutable_matmul();
  EXPECT_TRUE(IsShort(operation));
  operation.mutable_device();
  EXPECT_FALSE(IsShort(operation));
}

// A graph whose answer is larger than what a client takes unasked.
v1::AnalyzeGraphRequest LargeQuestion() {
  v1::AnalyzeGraphRequest out;
  v1::Graph& graph = *out.mutable_graph();
  graph.set_data_type(v1::DATA_TYPE_BF16);
  graph.add_tensors()->set_name("x");
  graph.mutable_tensors(0)->add_shape(4);
  for (int i = 0; i < 2000; ++i) {
    v1::GraphOperation& each = *graph.add_operations();
    each.set_name(absl::StrCat("operation ", i));
    each.mutable_operation()->mutable_activation();
    each.add_inputs(i == 0 ? "x" : absl::StrCat("operation ", i - 1));
  }
  return out;
}

class UnreadAnswersTest : public ::testing::Test {
 protected:
  UnreadAnswersTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.RegisterService(&grpc_service_);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // a window that does not grow
    channel_ = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                         grpc::InsecureChannelCredentials(), arguments);
  }
  ~UnreadAnswersTest() override { server_->Shutdown(); }

  grpc::StatusCode Ask() const {
    const auto stub = v1::AccountingService::NewStub(channel_);
    grpc::ClientContext context;
    v1::AnalyzeGraphResponse response;
    return stub->AnalyzeGraph(&context, question_, &response).error_code();
  }

  const v1::AnalyzeGraphRequest question_ = LargeQuestion();
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  WorkerPool workers_{{.threads = 1}};
  // Room for one answer, which has 160 kB.
  UnreadAnswers unread_{{.most_bytes = 250'000, .most_bytes_of_host = 250'000}};
  AccountingService service_{
      metrics_,
      {.calls = {.unread = &unread_}, .calibrations = {}, .now = {}, .workers = &workers_}};
  GrpcService grpc_service_{service_};
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(UnreadAnswersTest, AreLimitedAndEndInTheEnd) {
  EXPECT_EQ(Ask(), grpc::StatusCode::OK);
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  const auto call =
      stub.PrepareCall(&context, "/sextant.v1.AccountingService/AnalyzeGraph", &queue);
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return tag;
  };
  int begun = 0;
  int sent = 0;
  int ended = 0;
  call->StartCall(&begun);
  ASSERT_EQ(next(), &begun);
  const grpc::Slice slice(question_.SerializeAsString());
  call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, &sent);
  ASSERT_EQ(next(), &sent);

  // Its answer waits, and there is room for no other.
  while (Ask() != grpc::StatusCode::RESOURCE_EXHAUSTED) {
  }
  unread_.EndOld(std::chrono::steady_clock::now());  // not old
  EXPECT_EQ(Ask(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  unread_.EndOld(std::chrono::steady_clock::now() + std::chrono::hours(1));
  while (Ask() != grpc::StatusCode::OK) {
  }
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, &ended);
  ASSERT_EQ(next(), &ended);
}

int64_t ResidentBytes() {
  int64_t total = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(MemoryWatch, GivesBackWhatWasFreedBelowWhatIsInUse) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator";
#endif
  MemoryWatch memory(std::numeric_limits<int64_t>::max());
  memory.ReturnFreed();
  constexpr int kPieces = 128 << 10;
  constexpr size_t kPieceBytes = 1024;
  std::vector<std::string> pieces;
  pieces.reserve(kPieces);
  for (int i = 0; i < kPieces; ++i) pieces.emplace_back(kPieceBytes, 'x');
  const std::string above(kPieceBytes, 'x');
  pieces.clear();
  memory.ReturnFreed();
  const int64_t held = ResidentBytes();
  for (int i = 0; i < kPieces; ++i) pieces.emplace_back(kPieceBytes, 'x');
  EXPECT_GE(ResidentBytes() - held, int64_t{kPieces} * int64_t{kPieceBytes} / 2);
}

}  // namespace
}  // namespace sextant::server
