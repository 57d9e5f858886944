// Searches for the most expensive legal request of each RPC (request_search.h), in CPU time or,
// with
// --memory, in bytes that are allocated at once. All of a request takes part by its descriptor.
//
// CPU time of searches, batches and sizing is bounded by candidates and by the call's end, so that
// these are asked about their memory alone; the probe is left out.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "engine/run/plan.h"
#include "server/handler/accounting_service.h"
#include "server/handler/planning_service.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/benchmarks/server_process.h"
#include "tests/benchmarks/service_requests.h"
#include "tests/soak/limit_requests.h"
#include "tests/soak/request_search.h"

namespace sextant::server {
namespace {

using google::protobuf::Message;

constexpr char kPlanRun[] = "PlanningService/PlanRun";

struct WorstCaseOptions {
  RequestSearchOptions search;
  double most_milliseconds = 50;
  double most_mebibytes = 128;
  bool memory = false;
  bool short_calls = false;
  std::string only;
  std::string replay;
};

// The time of a preset's plan in benchmarks.md, on an otherwise idle machine. Builds that plan
// faster seem to run on faster machines, and their times divided by that come out too long.
constexpr double kUsualPlanSeconds = 2.9e-6;

// True where it is answered on gRPC's threads, as all of the other RPCs asked about with --short.
bool IsShortCall(const Message& message) {
  if (const auto* plan = dynamic_cast<const v1::PlanRunRequest*>(&message)) return IsShort(*plan);
  if (const auto* count = dynamic_cast<const v1::CountModelRequest*>(&message)) {
    return IsShort(*count);
  }
  if (const auto* operation = dynamic_cast<const v1::AnalyzeOperationRequest*>(&message)) {
    return IsShort(*operation);
  }
  const auto* const allocate = dynamic_cast<const v1::AllocateComputeRequest*>(&message);
  return allocate == nullptr || IsShort(*allocate);
}

// Makes it one of no search, which is another kind of call.
void KeepKind(Message* message) {
  if (auto* const plan = dynamic_cast<v1::PlanRunRequest*>(message)) {
    plan->mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  }
}

// Plans of models in use with a layout, which are short but for the first, in the longest answer.
std::vector<LimitRequest> UsualPlans() {
  std::vector<LimitRequest> out;
  for (const auto& usual : {DeepSeekLayout(), Llama405bLayout(), Llama70bLayout()}) {
    auto plan = std::make_shared<v1::PlanRunRequest>(usual);
    plan->mutable_layout()->set_micro_batch_size(8);
    plan->mutable_options()->set_view(v1::PLAN_VIEW_FULL);
    plan->mutable_options()->set_include_derivation(true);
    out.push_back({.method = "PlanningService/PlanRun",
                   .name = usual.model().preset() + ", does not fit",
                   .message = std::move(plan)});
  }
  return out;
}

// Calls that plan many runs, of the plans among `plans` that are timed: whatever has a
// PlanRunRequest in it.
std::vector<LimitRequest> LongRequests(const std::vector<LimitRequest>& plans) {
  const auto& service = *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "sextant.v1.PlanningService");
  std::vector<LimitRequest> out;
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::Descriptor& type = *service.method(i)->input_type();
    for (int j = 0; j < type.field_count(); ++j) {
      const auto* const field = type.field(j);
      if (field->message_type() != v1::PlanRunRequest::descriptor()) continue;
      const Message& empty =
          *google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
      for (const LimitRequest& plan : plans) {
        if (!absl::EndsWith(plan.name, ", timed")) continue;
        std::shared_ptr<Message> message(empty.New());
        const auto& all = *message->GetReflection();
        Message* const run = field->is_repeated() ? all.AddMessage(message.get(), field)
                                                  : all.MutableMessage(message.get(), field);
        run->CopyFrom(*plan.message);
        auto& request = *static_cast<v1::PlanRunRequest*>(run);
        if (!field->is_repeated()) request.clear_options();
        if (type.name() == "SizeClusterRequest") request.mutable_cluster()->clear_device_count();
        out.push_back({.method = "PlanningService/" + service.method(i)->name(),
                       .name = plan.name,
                       .message = std::move(message)});
      }
    }
  }
  return out;
}

// How much slower this machine is now than the usual one: a plan of a preset, the best of some.
double Slowness() {
  RunSpec run;
  run.model.preset = "llama-3.1-70b";
  run.training.token_count = 15'000'000'000'000;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = 1024;
  constexpr int kPlans = 2000;
  double best = 1;
  for (int i = 0; i < 20; ++i) {
    const double start = CpuSeconds();
    for (int j = 0; j < kPlans; ++j) (void)PlanRun(run).ok();
    best = std::min(best, (CpuSeconds() - start) / kPlans);
  }
  return best / kUsualPlanSeconds;
}

// Asks the request of a file once, for a profiler.
int Replay(const WorstCaseOptions& options, MeasuredCaller& caller) {
  std::ostringstream bytes;
  bytes << std::ifstream(options.replay, std::ios::binary).rdbuf();
  const auto* const method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
      "sextant.v1." + options.only);
  if (method == nullptr) return 2;
  FoundRequest found;
  found.message.reset(google::protobuf::MessageFactory::generated_factory()
                          ->GetPrototype(method->input_type())
                          ->New());
  if (!found.message->ParseFromString(bytes.str())) return 2;
  std::string name = options.only;
  name[name.find('.')] = '/';
  caller.Measure(name, 1, found);
  std::printf("%.3g %s\n", found.cost, found.error.c_str());
  return 0;
}

int Run(WorstCaseOptions options) {
  const auto server = Server::Start(BareServer());
  if (!server.ok()) return 2;
  if (options.memory) options.search.cost = Cost::kPeakBytes;
  options.search.is_asked = [&options](Message* message) {
    if (!options.memory) KeepKind(message);
    return !options.short_calls || IsShortCall(*message);
  };
  MeasuredCaller caller((*server)->grpc_addresses()[0], options.search.cost);
  if (!options.replay.empty()) return Replay(options, caller);
  std::map<std::string, std::vector<LimitRequest>> by_method;
  for (LimitRequest& each : LimitRequests()) by_method[each.method].push_back(std::move(each));
  for (LimitRequest& each : UsualPlans()) by_method[each.method].push_back(std::move(each));
  if (options.memory) {
    for (LimitRequest& each : LongRequests(by_method[kPlanRun])) {
      by_method[each.method].push_back(std::move(each));
    }
  }
  const FieldValues values = ValuesOfGoldenRequests();
  double worst = 0;
  for (const auto& [method, requests] : by_method) {
    if (method.find(options.only) == std::string::npos) continue;
    RequestSearch search(options.search, values, caller, method);
    for (const LimitRequest& each : requests) search.Start(each);
    search.Run();
    search.Report();
    worst = std::max(worst, search.worst_cost());
  }
  if (options.memory) return worst <= options.most_mebibytes * (1 << 20) ? 0 : 1;
  const double slowness = Slowness();
  const double plan = slowness * kUsualPlanSeconds;
  std::printf(
      "a plan of a preset takes %.1f us here, %.1f times the usual; the longest request %.0f "
      "times a plan of a preset\n",
      1e6 * plan, slowness, worst / plan);
  return 1e3 * worst <= options.most_milliseconds ? 0 : 1;
}

}  // namespace
}  // namespace sextant::server

// NOLINTNEXTLINE(bugprone-exception-escape): an error ends the program.
int main(int argc, char** argv) {
  sextant::server::WorstCaseOptions options;
  CLI::App app("Searches for each RPC's most expensive request; exit 1 where one costs too much");
  app.add_option("--seconds", options.search.seconds, "of the search for one RPC")
      ->capture_default_str();
  app.add_option("--milliseconds", options.most_milliseconds, "that none may take")
      ->capture_default_str();
  app.add_option("--bytes", options.search.most_bytes, "of a request at most")
      ->capture_default_str();
  app.add_flag("--memory", options.memory, "search for bytes allocated at once, not for CPU time");
  app.add_option("--mebibytes", options.most_mebibytes, "that none may allocate at once")
      ->capture_default_str();
  app.add_option("--replay", options.replay,
                 "a file of --folder to ask once; --only names its RPC: PlanningService.PlanRun");
  app.add_flag("--short", options.short_calls, "only calls that gRPC's threads answer");
  app.add_option("--only", options.only, "part of the names of RPCs");
  app.add_option("--folder", options.search.folder,
                 "where the requests that were found are written");
  CLI11_PARSE(app, argc, argv);
  return sextant::server::Run(options);
}
