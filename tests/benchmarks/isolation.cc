// How long health checks and single plans take while the server is idle, and while more searches
// are under way than it has threads for them: 99th percentiles, each against its own when idle.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sextant/v1/planning_service.grpc.pb.h"
#include "tests/benchmarks/server_process.h"
#include "tests/benchmarks/service_requests.h"

namespace sextant::server {
namespace {

using Clock = std::chrono::steady_clock;

v1::PlanRunRequest LaidOut() {
  v1::PlanRunRequest out = OpenPlan();
  out.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  out.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(4);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return out;
}

v1::PlanRunRequest Plan() {
  v1::PlanRunRequest out = OpenPlan();
  out.clear_layout();
  return out;
}

v1::PlanRunRequest Search() {
  v1::PlanRunRequest out = OpenPlan();
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  return out;
}

bool PlanOnce(v1::PlanningService::Stub& stub, const v1::PlanRunRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  v1::PlanRunResponse response;
  return stub.PlanRun(&context, request, &response).ok();
}

bool CheckHealth(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const grpc::Slice nothing("");  // a HealthCheckRequest for the server as a whole
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                          grpc::ByteBuffer(&nothing, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok && status.ok();
}

// The 99th percentile of `calls` calls, one after the other, in microseconds; 0 where one failed.
double Percentile99(int calls, const std::function<bool()>& call) {
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    if (!call()) return 0;
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  const auto place = times.begin() + calls * 99 / 100;
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

int Compare(int calls, int searches) {
  const Child child(ServeSextant);
  const std::string address = child.ReadAddress();
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  const auto stub = v1::PlanningService::NewStub(channel);
  const std::vector<std::pair<const char*, std::function<bool()>>> kinds = {
      {"health check", [&] { return CheckHealth(channel); }},
      {"plan", [&, request = Plan()] { return PlanOnce(*stub, request); }},
      {"plan with a layout", [&, request = LaidOut()] { return PlanOnce(*stub, request); }}};
  std::vector<double> idle;
  for (const auto& [name, call] : kinds) {
    Percentile99(100, call);
    idle.push_back(Percentile99(calls, call));
  }

  std::atomic<bool> ends{false};
  std::atomic<int> searched{0};
  std::vector<std::thread> searching;
  for (int i = 0; i < searches; ++i) {
    searching.emplace_back([&] {
      const auto own = v1::PlanningService::NewStub(grpc::CreateCustomChannel(
          address, grpc::InsecureChannelCredentials(), grpc::ChannelArguments()));
      while (!ends) searched += PlanOnce(*own, Search());
    });
  }
  while (searched == 0) std::this_thread::yield();
  int failures = 0;
  std::printf("99th percentile of %d calls, us\n%-20s %8s %24s %6s\n", calls, "", "idle",
              "while searches wait", "ratio");
  for (size_t i = 0; i < kinds.size(); ++i) {
    const double busy = Percentile99(calls, kinds[i].second);
    failures += idle[i] == 0 || busy == 0;
    std::printf("%-20s %8.0f %24.0f %6.2f\n", kinds[i].first, idle[i], busy, busy / idle[i]);
  }
  ends = true;
  for (std::thread& each : searching) each.join();
  std::printf("%d searches ended meanwhile, %d at a time\n", searched.load(), searches);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sextant::server

// NOLINTNEXTLINE(bugprone-exception-escape): an error ends the program.
int main(int argc, char** argv) {
  int calls = 2000;
  int searches = 8;
  CLI::App app("Waits of short calls, idle and during searches");
  app.add_option("--calls", calls)->capture_default_str();
  app.add_option("--searches", searches)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return sextant::server::Compare(calls, searches);
}
