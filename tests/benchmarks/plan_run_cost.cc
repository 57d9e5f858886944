// The cost of a PlanRun call compared with a call whose handler is empty, and with one whose
// handler only copies a ready answer: calls a second and server CPU, each server in a process of
// its own, taken in turn in one run. Also the cost with the most calibrations of a request.
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "server/device/device_finder.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "tests/benchmarks/server_process.h"
#include "tests/benchmarks/service_requests.h"

namespace sextant::server {
namespace {

v1::PlanRunRequest RequestOnCalibrations() {
  v1::PlanRunRequest request = PresetPlan();
  request.mutable_cluster()->clear_device();
  for (int i = 0; i < kMaxCalibrations; ++i) {
    *request.mutable_cluster()->mutable_device()->mutable_calibrations()->add_calibrations() =
        FullCalibration("CPU-" + std::to_string(i));
  }
  return request;
}

v1::PlanRunRequest Full(v1::PlanRunRequest request) {
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  return request;
}

v1::PlanRunResponse AnswerTo(const v1::PlanRunRequest& request) {
  FieldViolations none;
  SuppliedCalibrations supplied;
  const CalibrationSnapshot host;
  const RunSpec run =
      RunSpecFrom(request, DeviceFinder({.supplied = supplied, .host = host}), none);
  v1::PlanRunResponse response;
  PlanTo(*PlanRun(run), run.options.full, response.mutable_plan());
  return response;
}

// Answers every call with the same response.
class FixedPlanning final
    : public v1::PlanningService::WithCallbackMethod_PlanRun<v1::PlanningService::Service> {
 public:
  explicit FixedPlanning(v1::PlanRunResponse answer) : answer_(std::move(answer)) {}
  grpc::ServerUnaryReactor* PlanRun(grpc::CallbackServerContext* context, const v1::PlanRunRequest*,
                                    v1::PlanRunResponse* response) override {
    response->CopyFrom(answer_);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const v1::PlanRunResponse answer_;
};

void ServeFixed(v1::PlanRunResponse answer, int address_out, int stop_in) {
  FixedPlanning service(std::move(answer));
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  dprintf(address_out, "127.0.0.1:%d\n", port);
  char unused = 0;
  (void)!read(stop_in, &unused, 1);
  server->Shutdown();
}

void ServeEmpty(int address_out, int stop_in) { ServeFixed({}, address_out, stop_in); }

void ServeReadyAnswer(int address_out, int stop_in) {
  ServeFixed(AnswerTo(PresetPlan()), address_out, stop_in);
}

void ServeReadyFullAnswer(int address_out, int stop_in) {
  ServeFixed(AnswerTo(Full(PresetPlan())), address_out, stop_in);
}

// Calibrations and searches make a call so long that fewer of them are as many samples of the
// clock.
constexpr int kCalibratedCallsShare = 20;
constexpr int kSearchedCallsShare = 400;

struct Sample {
  double calls_per_second;
  double cpu_microseconds_per_call;
};

Sample Median(std::vector<Sample> samples) {
  const auto middle = [&](double Sample::*member) {
    std::sort(samples.begin(), samples.end(),
              [&](const Sample& a, const Sample& b) { return a.*member < b.*member; });
    return samples[samples.size() / 2].*member;
  };
  return {middle(&Sample::calls_per_second), middle(&Sample::cpu_microseconds_per_call)};
}

struct LoopResult {
  double seconds = 0;
  int failed_calls = 0;
};

struct LoopCall {
  grpc::ClientContext context;
  v1::PlanRunResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::PlanRunResponse>> reader;
};

// A closed loop: calls the server at `address` `calls` times from one thread, `in_flight` at a
// time, each answered before the next starts and with one more token to train on than the one
// before.
LoopResult RunClosedLoop(const std::string& address, v1::PlanRunRequest request, int calls,
                         int in_flight) {
  const auto stub = v1::PlanningService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  int started = 0;
  const auto start_one = [&] {
    auto* call = new LoopCall;
    v1::TrainingSpec& training = *request.mutable_training();
    training.set_token_count(training.token_count() + 1);
    call->reader = stub->AsyncPlanRun(&call->context, request, &queue);
    call->reader->Finish(&call->response, &call->status, call);
    ++started;
  };
  LoopResult result;
  const auto start = std::chrono::steady_clock::now();
  while (started < std::min(calls, in_flight)) start_one();
  for (int finished = 0; finished < calls; ++finished) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    const std::unique_ptr<LoopCall> call(static_cast<LoopCall*>(tag));
    if (!ok || !call->status.ok()) ++result.failed_calls;
    if (started < calls) start_one();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  result.seconds = took.count();
  return result;
}

// One of the servers compared, what it is asked, and what was measured of it.
struct Contestant {
  const char* name;
  std::unique_ptr<Child> child;
  v1::PlanRunRequest request;
  int calls;
  std::string address = {};
  std::vector<Sample> samples = {};
};

Sample Measure(const Contestant& contestant, int in_flight) {
  const double before = contestant.child->CpuSeconds();
  const LoopResult loop =
      RunClosedLoop(contestant.address, contestant.request, contestant.calls, in_flight);
  if (loop.failed_calls > 0) {
    std::fprintf(stderr, "%d calls failed\n", loop.failed_calls);
    std::exit(1);
  }
  return {contestant.calls / loop.seconds,
          (contestant.child->CpuSeconds() - before) * 1e6 / contestant.calls};
}

void Print(const Contestant& contestant, const Sample& empty) {
  const Sample sample = Median(contestant.samples);
  std::printf("%-13s %9.0f %6.2f %20.1f %6.2f\n", contestant.name, sample.calls_per_second,
              sample.calls_per_second / empty.calls_per_second, sample.cpu_microseconds_per_call,
              sample.cpu_microseconds_per_call / empty.cpu_microseconds_per_call);
}

int Main(int rounds, int calls, int in_flight) {
  std::vector<Contestant> contestants;
  const auto add = [&](const char* name, void (*serve)(int, int)) {
    contestants.push_back({name, std::make_unique<Child>(serve), PresetPlan(), calls});
  };
  add("empty", ServeEmpty);
  add("ready answer", ServeReadyAnswer);
  add("PlanRun", ServeSextant);
  add("ready, FULL", ServeReadyFullAnswer);
  const auto ask = [&](const char* name, v1::PlanRunRequest request, int share) {
    add(name, ServeSextant);
    contestants.back().request = std::move(request);
    contestants.back().calls = std::max(1, calls / share);
  };
  ask("FULL", Full(PresetPlan()), 1);
  ask("70B layout", Llama70bLayout(), 1);
  ask("405B layout", Llama405bLayout(), 1);
  ask("V3 layout", DeepSeekLayout(), 1);
  ask("405B, fits", Recomputing(Llama405bLayout()), 1);
  ask("V3, fits", Recomputing(DeepSeekLayout()), 1);
  ask("open layout", OpenPlan(), kSearchedCallsShare);
  ask("calibrations", RequestOnCalibrations(), kCalibratedCallsShare);
  for (Contestant& c : contestants) c.address = c.child->ReadAddress();
  for (int round = 0; round <= rounds; ++round) {  // round 0 warms up
    for (Contestant& c : contestants) {
      const Sample sample = Measure(c, in_flight);
      if (round > 0) c.samples.push_back(sample);
    }
  }
  std::printf(
      "median of %d rounds of %d calls (%d with calibrations, %d of an open layout), %d in flight, "
      "loopback TCP\n",
      rounds, calls, contestants.back().calls, std::max(1, calls / kSearchedCallsShare), in_flight);
  std::printf("%-13s %9s %6s %20s %6s\n", "handler", "calls/s", "ratio", "server CPU us/call",
              "ratio");
  const Sample empty = Median(contestants.front().samples);
  for (const Contestant& c : contestants) Print(c, empty);
  return 0;
}

}  // namespace
}  // namespace sextant::server

int main(int argc, char** argv) {
  int rounds = 5;
  int calls = 20'000;
  int in_flight = 64;
  CLI::App app("PlanRun against an empty handler, in one run");
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--calls", calls)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--in_flight", in_flight)->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return sextant::server::Main(rounds, calls, in_flight);
}
