// Turns of callers with names, here by tokens, and of their long calls.
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/call/grpc_service.h"
#include "server/handler/planning_service.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

constexpr int kPlans = 15;
constexpr char kTokenEnd[] = "-0123456789abcdef";  // after the caller's name

std::unique_ptr<Access> AccessByTokens(const std::vector<std::string>& callers) {
  const std::string path = TemporaryFile("tokens_of_turns");
  std::ofstream file(path);
  for (const std::string& name : callers) file << name << " " << name << kTokenEnd << "\n";
  file.close();
  auto access = Access::Load({.token_file = path});
  EXPECT_TRUE(access.ok()) << access.status();
  return *std::move(access);
}

// With a deadline, by which a call that waits for ever fails its test.
void ShowToken(const std::string& caller, grpc::ClientContext* context) {
  context->AddMetadata("authorization", absl::StrCat("Bearer ", caller, kTokenEnd));
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(5));
}

// Llama-3.1-8B on that many H100s.
v1::PlanRunRequest OpenRun(int64_t devices) {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset("llama-3.1-8b");
  out.mutable_training()->set_token_count(1'000'000'000'000);
  out.mutable_training()->set_sequence_length(4096);
  out.mutable_layout()->set_global_batch_size(64);
  out.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_cluster()->set_device_count(devices);
  out.mutable_cluster()->set_node_type("dgx-h100");
  return out;
}

v1::PlanRunRequest ExhaustiveRun(int64_t devices) {
  v1::PlanRunRequest out = OpenRun(devices);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  return out;
}

// Keeps a thread of a pool from all else.
class ThreadHolder {
 public:
  void Hold(WorkerPool& pool) {
    pool.Post("holder", [this](const absl::Status&) {
      started_.set_value();
      released_.get_future().wait();
    });
  }
  void AwaitStart() { started_.get_future().wait(); }
  void Release() { released_.set_value(); }

 private:
  std::promise<void> started_;
  std::promise<void> released_;
};

// All callers come from one host, with tokens. Of each pool one call runs at a time, and gives way
// to the others whenever it may.
class TurnsTest : public ::testing::Test {
 protected:
  TurnsTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&grpc_service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::PlanningService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  }
  ~TurnsTest() override { server_->Shutdown(); }

  // Calls `method` as `caller`.
  template <typename Request, typename Response>
  std::future<grpc::StatusCode> Call(const std::string& caller,
                                     grpc::Status (v1::PlanningService::Stub::*method)(
                                         grpc::ClientContext*, const Request&, Response*),
                                     const Request& request) {
    return std::async(std::launch::async, [this, caller, method, request] {
      grpc::ClientContext context;
      ShowToken(caller, &context);
      Response response;
      return (stub_.get()->*method)(&context, request, &response).error_code();
    });
  }
  std::future<grpc::StatusCode> Plan(const std::string& caller, const v1::PlanRunRequest& request) {
    return Call(caller, &v1::PlanningService::Stub::PlanRun, request);
  }
  std::future<grpc::StatusCode> Watch(const std::string& caller,
                                      const v1::PlanRunRequest& request) {
    return std::async(std::launch::async, [this, caller, request] {
      grpc::ClientContext context;
      ShowToken(caller, &context);
      const auto reader = stub_->WatchPlanRun(&context, request);
      v1::WatchPlanRunResponse event;
      while (reader->Read(&event)) {
      }
      return reader->Finish().error_code();
    });
  }

  // The sum over the series of a family, of what `value` is of each.
  double Sum(const std::string& family, double (*value)(const prometheus::ClientMetric&)) const {
    double out = 0;
    for (const prometheus::MetricFamily& each : registry_.Collect()) {
      if (each.name != family) continue;
      for (const prometheus::ClientMetric& metric : each.metric) out += value(metric);
    }
    return out;
  }
  double CallsEnded() const {
    return Sum("sextant_calls_total", [](const auto& metric) { return metric.counter.value; });
  }
  double CallsWaiting() const {
    return Sum("sextant_calls_waiting", [](const auto& metric) { return metric.gauge.value; });
  }
  double WaitsCounted() const {
    return Sum("sextant_call_wait_seconds",
               [](const auto& metric) { return double(metric.histogram.sample_count); });
  }

  // Waits until `holds()`, or until a call ends.
  void Await(const std::function<bool()>& holds) const {
    while (!holds() && CallsEnded() == 0) std::this_thread::yield();
  }

  std::vector<std::string> CallersThatBegan() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return begun_;
  }

  double EndedAtLastBegin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ended_at_last_begin_;
  }

  // Called once by each call, when it begins.
  std::shared_ptr<const CalibrationSnapshot> Begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    begun_.push_back(WorkerPool::CallerOfTask());
    ended_at_last_begin_ = CallsEnded();
    return host_;
  }

  const std::shared_ptr<const CalibrationSnapshot> host_ =
      std::make_shared<const CalibrationSnapshot>();
  std::mutex mutex_;
  std::vector<std::string> begun_;  // the callers of calls, when they began
  double ended_at_last_begin_ = 0;  // calls
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  SuppliedCalibrations supplied_;
  const std::unique_ptr<Access> access_ =
      AccessByTokens({"many", "few", "batch", "first", "second", "sizing", "planner"});
  WorkerPool workers_{{.threads = 1}};
  WorkerPool short_searches_{
      {.threads = 1, .max_waiting = kPlans, .waits = metrics_.ForPool("short_searches")}};
  WorkerPool searches_{
      {.threads = 1, .max_paused = 4, .turn = {}, .waits = metrics_.ForPool("searches")}};
  PlanningService service_{metrics_,
                           {.calls = {.access = access_.get()},
                            .calibrations = [this] { return Begin(); },
                            .now = absl::Now,
                            .supplied = &supplied_,
                            .workers = &workers_,
                            .short_searches = &short_searches_,
                            .searches = &searches_}};
  GrpcService grpc_service_{service_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::PlanningService::Stub> stub_;
};

// Callers of one host take turns by name, and their calls are counted while they wait.
TEST_F(TurnsTest, AreTakenByNameAndCounted) {
  ThreadHolder holder;
  holder.Hold(short_searches_);
  std::vector<std::future<grpc::StatusCode>> calls;
  calls.reserve(kPlans);
  for (int i = 0; i < kPlans - 1; ++i) calls.push_back(Plan("many", OpenRun(16)));
  Await([this] { return CallsWaiting() == kPlans - 1; });
  calls.push_back(Watch("few", OpenRun(16)));
  Await([this] { return CallsWaiting() == kPlans; });
  EXPECT_EQ(CallsEnded(), 0);
  EXPECT_EQ(Plan("many", OpenRun(16)).get(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(CallsWaiting(), kPlans);
  EXPECT_EQ(WaitsCounted(), 0);
  holder.Release();
  for (auto& each : calls) EXPECT_EQ(each.get(), grpc::StatusCode::OK);
  std::vector<std::string> in_turn(kPlans, "name:many");
  in_turn[1] = "name:few";
  EXPECT_EQ(CallersThatBegan(), in_turn);
  EXPECT_EQ(CallsWaiting(), 0);
  EXPECT_EQ(WaitsCounted(), kPlans);
}

// A batch, two exhaustive searches and a SizeCluster share one thread, and all begin before one
// ends. Then the thread is held: plans without a layout are answered nevertheless.
TEST_F(TurnsTest, AreTakenByAllLongCalls) {
  v1::BatchPlanRunsRequest batch;
  for (int i = 0; i < 256; ++i) *batch.add_runs() = OpenRun(16);
  v1::SizeClusterRequest sizing;
  *sizing.mutable_run() = OpenRun(0);
  sizing.mutable_max_duration()->set_seconds(int64_t{90} * 24 * 3600);
  ThreadHolder before;
  ThreadHolder after;
  before.Hold(searches_);
  std::vector<std::future<grpc::StatusCode>> calls;
  calls.push_back(Call("batch", &v1::PlanningService::Stub::BatchPlanRuns, batch));
  calls.push_back(Plan("first", ExhaustiveRun(64)));
  calls.push_back(Watch("second", ExhaustiveRun(64)));
  calls.push_back(Call("sizing", &v1::PlanningService::Stub::SizeCluster, sizing));
  Await([this] { return CallsWaiting() == 4; });
  before.Release();
  Await([this] { return CallersThatBegan().size() == 4; });
  EXPECT_EQ(CallersThatBegan().size(), 4U);
  EXPECT_EQ(EndedAtLastBegin(), 0);
  after.Hold(searches_);
  after.AwaitStart();
  const double ended = CallsEnded();
  std::vector<std::future<grpc::StatusCode>> plans;
  plans.reserve(kPlans);
  for (int i = 0; i < kPlans; ++i) plans.push_back(Plan("planner", OpenRun(16)));
  for (auto& each : plans) EXPECT_EQ(each.get(), grpc::StatusCode::OK);
  EXPECT_EQ(CallsEnded(), ended + kPlans);
  after.Release();
  for (auto& each : calls) EXPECT_EQ(each.get(), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace sextant::server
