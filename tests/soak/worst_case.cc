// Searches for the most expensive legal request of each RPC: from requests at the limits it changes
// what is random, and keeps what takes the server longer. Searches, batches and sizing, which are
// bounded by candidates and by the call's end, are left out, and so is the probe.
//
// The time is the CPU time of this process, in which the server, a client that sends bytes and
// nothing else run: others on the machine don't count, and the client's share is of microseconds.
#include <google/protobuf/message.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "engine/run/plan.h"
#include "server/handler/accounting_service.h"
#include "server/handler/planning_service.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/benchmarks/server_process.h"
#include "tests/benchmarks/service_requests.h"
#include "tests/soak/limit_requests.h"
#include "tests/soak/mutation.h"

namespace sextant::server {
namespace {

using Clock = std::chrono::steady_clock;
using google::protobuf::Message;

constexpr size_t kParents = 6;

struct WorstCaseOptions {
  double seconds = 60;
  double report_milliseconds = 50;
  size_t most_bytes = 1 << 20;
  bool short_calls = false;
  std::string only;
  std::string folder;
};

// The time of a preset's plan in benchmarks.md, on an otherwise idle machine. Builds that plan
// faster seem to run on faster machines, and their times divided by that come out too long.
constexpr double kUsualPlanSeconds = 2.9e-6;

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Found {
  std::shared_ptr<Message> message;
  std::string from;  // the request at the limits that it comes from
  double seconds = 0;
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string error = {};
};

struct LongestList {
  Message* of = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;
  int size = 0;

  void LookIn(Message* message) {
    const auto* const reflection = message->GetReflection();
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const auto* const each : fields) {
      const bool is_list = each->is_repeated();
      const int count = is_list ? reflection->FieldSize(*message, each) : 1;
      if (is_list && count > size) *this = {message, each, count};
      if (each->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      for (int i = 0; i < count; ++i) {
        LookIn(is_list ? reflection->MutableRepeatedMessage(message, each, i)
                       : reflection->MutableMessage(message, each));
      }
    }
  }
};

class Caller {
 public:
  explicit Caller(const std::string& address)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())) {}

  // The CPU time that `found`'s message takes, the least of `times`.
  void Time(const std::string& method, int times, Found& found) {
    for (int i = 0; i < times; ++i) {
      MarkCalibrations(found.message.get(), ++number_);
      const grpc::Slice slice(found.message->SerializeAsString());
      const grpc::ByteBuffer bytes(&slice, 1);
      grpc::ByteBuffer answer;
      grpc::ClientContext context;
      std::promise<grpc::Status> done;
      const double start = CpuSeconds();
      stub_.UnaryCall(&context, "/sextant.v1." + method, {}, &bytes, &answer,
                      [&done](grpc::Status status) { done.set_value(std::move(status)); });
      const grpc::Status status = done.get_future().get();
      const double took = CpuSeconds() - start;
      found.seconds = i == 0 ? took : std::min(found.seconds, took);
      found.code = status.error_code();
      found.error = status.error_message();
    }
  }

 private:
  grpc::GenericStub stub_;
  int64_t number_ = 0;
};

// Halves the longest list in `message` until it has at most `bytes`, or no list of two elements.
void Shrink(size_t bytes, Message* message) {
  while (message->ByteSizeLong() > bytes) {
    LongestList longest;
    longest.LookIn(message);
    if (longest.size < 2) return;
    for (int i = longest.size; i > longest.size / 2; --i) {
      longest.of->GetReflection()->RemoveLast(longest.of, longest.field);
    }
  }
}

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

// No search, which is another kind of call.
void KeepKind(Message* message) {
  if (auto* const plan = dynamic_cast<v1::PlanRunRequest*>(message)) {
    plan->mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  }
}

// The best requests of one RPC, the most expensive first.
class Parents {
 public:
  bool Takes(double seconds) const {
    return all_.size() < kParents || seconds > all_.back().seconds;
  }
  void Add(const Found& found) {
    all_.insert(std::find_if(all_.begin(), all_.end(),
                             [&](const Found& each) { return each.seconds < found.seconds; }),
                found);
    if (all_.size() > kParents) all_.pop_back();
  }
  bool empty() const { return all_.empty(); }
  const Found& best() const { return all_.front(); }
  const Found& Any(std::mt19937& random) const { return all_[random() % all_.size()]; }

 private:
  std::vector<Found> all_;
};

class Search {
 public:
  Search(const WorstCaseOptions& options, Caller& caller, std::string method)
      : options_(options), caller_(caller), method_(std::move(method)), mutation_(random_) {}

  void Start(const LimitRequest& limit) {
    Found found = {.message = limit.message, .from = limit.name};
    Shrink(options_.most_bytes, found.message.get());
    if (!IsAsked(*found.message)) return;
    caller_.Time(method_, 2, found);
    std::printf("  %9.2f ms  %s%s%s\n", 1e3 * found.seconds, limit.name.c_str(),
                found.error.empty() ? "" : ": ", found.error.substr(0, 200).c_str());
    Take(found);
  }

  void Run() {
    if (legal_.empty() && refused_.empty()) return;  // all are larger than asked for
    const auto end = Clock::now() + std::chrono::duration<double>(options_.seconds);
    while (Clock::now() < end) Step();
  }

  void Report() {
    for (Parents* parents : {&legal_, &refused_}) {
      if (parents->empty()) continue;
      Found best = parents->best();
      caller_.Time(method_, 5, best);
      std::printf("%-36s %-8s %9.2f ms %8zu bytes  %s; %d tried\n", method_.c_str(),
                  best.code == grpc::StatusCode::OK ? "OK" : "refused", 1e3 * best.seconds,
                  best.message->ByteSizeLong(), best.from.c_str(), tried_);
      if (!best.error.empty()) std::printf("    %s\n", best.error.substr(0, 200).c_str());
      Write(best, parents == &legal_ ? "ok" : "refused");
    }
    std::fflush(stdout);
  }

  double worst_seconds() const { return legal_.empty() ? 0 : legal_.best().seconds; }

 private:
  void Step() {
    const bool of_legal = refused_.empty() || (!legal_.empty() && random_() % 8 != 0);
    const Found& parent = (of_legal ? legal_ : refused_).Any(random_);
    Found child = {.message = std::shared_ptr<Message>(parent.message->New()), .from = parent.from};
    child.message->CopyFrom(*parent.message);
    for (unsigned i = 0; i <= random_() % 4; ++i) mutation_.Apply(child.message.get());
    KeepKind(child.message.get());
    if (!IsAsked(*child.message)) return;
    caller_.Time(method_, 1, child);
    ++tried_;
    Parents& parents = child.code == grpc::StatusCode::OK ? legal_ : refused_;
    if (!parents.Takes(child.seconds)) return;
    caller_.Time(method_, 2, child);  // once may have been slow by chance
    Take(child);
  }

  bool IsAsked(const Message& message) const {
    return message.ByteSizeLong() <= options_.most_bytes &&
           (!options_.short_calls || IsShortCall(message));
  }

  void Take(const Found& found) {
    Parents& parents = found.code == grpc::StatusCode::OK ? legal_ : refused_;
    if (parents.Takes(found.seconds)) parents.Add(found);
  }

  void Write(const Found& found, const std::string& kind) const {
    if (options_.folder.empty()) return;
    std::string name = method_.substr(method_.find('/') + 1);
    std::ofstream(options_.folder + "/" + name + "." + kind + ".pb", std::ios::binary)
        << found.message->SerializeAsString();
  }

  const WorstCaseOptions& options_;
  Caller& caller_;
  const std::string method_;
  std::mt19937 random_{20261126};
  Mutation mutation_;
  Parents legal_;
  Parents refused_;
  int tried_ = 0;
};

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

int Run(const WorstCaseOptions& options) {
  const auto server = Server::Start(BareServer());
  if (!server.ok()) return 2;
  Caller caller((*server)->grpc_addresses()[0]);
  std::map<std::string, std::vector<LimitRequest>> by_method;
  for (LimitRequest& each : LimitRequests()) by_method[each.method].push_back(std::move(each));
  for (LimitRequest& each : UsualPlans()) by_method[each.method].push_back(std::move(each));
  double worst = 0;
  for (const auto& [method, requests] : by_method) {
    if (method.find(options.only) == std::string::npos) continue;
    Search search(options, caller, method);
    for (const LimitRequest& each : requests) search.Start(each);
    search.Run();
    search.Report();
    worst = std::max(worst, search.worst_seconds());
  }
  const double slowness = Slowness();
  std::printf("a plan of a preset takes %.1f us here: %.1f times the usual\n",
              1e6 * slowness * kUsualPlanSeconds, slowness);
  return 1e3 * worst <= options.report_milliseconds ? 0 : 1;
}

}  // namespace
}  // namespace sextant::server

// NOLINTNEXTLINE(bugprone-exception-escape): an error ends the program.
int main(int argc, char** argv) {
  sextant::server::WorstCaseOptions options;
  CLI::App app("Searches for each RPC's most expensive request; exit 1 where one takes too long");
  app.add_option("--seconds", options.seconds, "of the search for one RPC")->capture_default_str();
  app.add_option("--milliseconds", options.report_milliseconds, "that none may take")
      ->capture_default_str();
  app.add_option("--bytes", options.most_bytes, "of a request at most")->capture_default_str();
  app.add_flag("--short", options.short_calls, "only calls that gRPC's threads answer");
  app.add_option("--only", options.only, "part of the names of RPCs");
  app.add_option("--folder", options.folder, "where the requests that were found are written");
  CLI11_PARSE(app, argc, argv);
  return sextant::server::Run(options);
}
