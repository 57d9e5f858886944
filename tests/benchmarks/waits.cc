// How long plans without a layout wait for their answers during other callers' long calls.
#include <grpcpp/create_channel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "tests/benchmarks/server_process.h"
#include "tests/benchmarks/service_requests.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using Clock = std::chrono::steady_clock;
using Stub = v1::PlanningService::Stub;

constexpr char kTokenEnd[] = "-0123456789abcdef";  // after the caller's name
constexpr std::chrono::milliseconds kUntilLongCallsBegin(300);

// A server that tells callers apart by their tokens, as ServeSextant() else.
std::string token_file;
void ServeCallers(int address_out, int stop_in) {
  ServerOptions options = BareServer();
  options.token_file = token_file;
  const auto server = Server::Start(options);
  dprintf(address_out, "%s\n", (*server)->grpc_addresses()[0].c_str());
  char unused = 0;
  (void)!read(stop_in, &unused, 1);
}

void Identify(const std::string& caller, grpc::ClientContext* context) {
  context->AddMetadata("authorization", absl::StrCat("Bearer ", caller, kTokenEnd));
}

v1::BatchPlanRunsRequest Batch() {
  v1::BatchPlanRunsRequest out;
  for (int i = 0; i < 256; ++i) {
    v1::PlanRunRequest& run = *out.add_runs();
    run = OpenPlan();
    run.mutable_training()->set_token_count(run.training().token_count() + i);
  }
  return out;
}

v1::PlanRunRequest Exhaustive() {
  v1::PlanRunRequest out = OpenPlan();
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  return out;
}

v1::SizeClusterRequest Sizing() {
  v1::SizeClusterRequest out;
  *out.mutable_run() = OpenPlan();
  out.mutable_run()->clear_cluster();
  for (const auto& [product, servers] :
       {std::pair("h100-sxm", "dgx-h100"), std::pair("h200-sxm", "dgx-h200"),
        std::pair("a100-sxm-80gb", "dgx-a100"), std::pair("b200", "dgx-b200")}) {
    v1::ClusterProduct& each = *out.add_products();
    each.set_accelerator(product);
    each.set_node_type(servers);
  }
  out.mutable_max_duration()->set_seconds(int64_t{90} * 24 * 3600);
  return out;
}

// A caller who makes the same call again and again until this object goes.
class Busy {
 public:
  template <typename Request, typename Response>
  Busy(const std::string& address, const std::string& caller,
       grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
       const Request& request)
      : thread_([this, address, caller, method, request] {
          const auto stub = v1::PlanningService::NewStub(
              grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
          for (grpc::ClientContext* context = Next(caller); context != nullptr;
               context = Next(caller)) {
            Response response;
            const grpc::Status status = (stub.get()->*method)(context, request, &response);
            if (status.ok() || status.error_code() == grpc::StatusCode::CANCELLED) continue;
            std::printf("%s: %s\n", caller.c_str(), status.error_message().c_str());
          }
        }) {}
  ~Busy() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
      if (context_ != nullptr) context_->TryCancel();
    }
    thread_.join();
  }

 private:
  // The context of the next call, if there is to be one.
  grpc::ClientContext* Next(const std::string& caller) {
    const std::lock_guard<std::mutex> lock(mutex_);
    context_ = ends_ ? nullptr : std::make_unique<grpc::ClientContext>();
    if (context_ != nullptr) Identify(caller, context_.get());
    return context_.get();
  }

  std::mutex mutex_;
  bool ends_ = false;
  std::unique_ptr<grpc::ClientContext> context_;
  std::thread thread_;
};

// Long calls of several callers: a name, and how they begin.
using Callers = std::vector<std::unique_ptr<Busy>>;
struct Load {
  const char* name;
  std::function<void(const std::string& address, Callers& out)> begin;
};

void AddBatch(const std::string& address, Callers& out) {
  out.push_back(std::make_unique<Busy>(address, "batch", &Stub::BatchPlanRuns, Batch()));
}
void AddSearches(const std::string& address, Callers& out) {
  for (const char* caller : {"first", "second"}) {
    out.push_back(std::make_unique<Busy>(address, caller, &Stub::PlanRun, Exhaustive()));
  }
}
void AddSizing(const std::string& address, Callers& out) {
  out.push_back(std::make_unique<Busy>(address, "sizing", &Stub::SizeCluster, Sizing()));
}

const std::vector<Load>& Loads() {
  static const auto* const out =
      new std::vector<Load>{{"nothing", [](const std::string&, Callers&) {}},
                            {"a batch of 256 runs", AddBatch},
                            {"two exhaustive searches", AddSearches},
                            {"a SizeCluster of four products", AddSizing},
                            {"all of these", [](const std::string& address, Callers& callers) {
                               AddBatch(address, callers);
                               AddSearches(address, callers);
                               AddSizing(address, callers);
                             }}};
  return *out;
}

// Seconds until a plan is answered; infinite where it is not.
double PlanOnce(Stub& stub) {
  grpc::ClientContext context;
  Identify("planner", &context);
  v1::PlanRunResponse response;
  const auto start = Clock::now();
  if (!stub.PlanRun(&context, OpenPlan(), &response).ok()) {
    return std::numeric_limits<double>::infinity();
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Sorted seconds of that many plans, one after the other or `at_once`.
std::vector<double> TimesOf(Stub& stub, int plans, bool at_once) {
  std::vector<std::future<double>> answers;
  std::vector<double> out;
  answers.reserve(static_cast<size_t>(plans));
  out.reserve(static_cast<size_t>(plans));
  for (int i = 0; i < plans; ++i) {
    answers.push_back(std::async(at_once ? std::launch::async : std::launch::deferred,
                                 [&stub] { return PlanOnce(stub); }));
  }
  for (std::future<double>& each : answers) out.push_back(each.get());
  std::sort(out.begin(), out.end());
  return out;
}

int Measure(int plans, double deadline_seconds) {
  const TemporaryFolder folder;
  token_file = folder.File("tokens");
  std::ofstream file(token_file);
  for (const char* name : {"batch", "first", "second", "sizing", "planner"}) {
    file << name << " " << name << kTokenEnd << "\n";
  }
  file.close();
  const Child child(ServeCallers);
  const std::string address = child.ReadAddress();
  const auto stub = v1::PlanningService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  TimesOf(*stub, 1, false);
  std::printf("%d plans during               sent             within %g s   first     worst\n",
              plans, deadline_seconds);
  int failures = 0;
  for (const Load& load : Loads()) {
    Callers callers;
    load.begin(address, callers);
    std::this_thread::sleep_for(kUntilLongCallsBegin);
    for (const bool at_once : {false, true}) {
      const std::vector<double> times = TimesOf(*stub, plans, at_once);
      const auto met = std::upper_bound(times.begin(), times.end(), deadline_seconds);
      std::printf("%-30s %-18s %2d of %d %10.0f ms %6.0f ms\n", load.name,
                  at_once ? "at once" : "one after another", static_cast<int>(met - times.begin()),
                  plans, 1000 * times.front(), 1000 * times.back());
      failures += std::isinf(times.back()) ? 1 : 0;
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sextant::server

// NOLINTNEXTLINE(bugprone-exception-escape): an error ends the program.
int main(int argc, char** argv) {
  int plans = 15;
  double deadline_seconds = 1;
  CLI::App app("Waits of plans without a layout during long calls");
  app.add_option("--plans", plans)->capture_default_str();
  app.add_option("--deadline_seconds", deadline_seconds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return sextant::server::Measure(plans, deadline_seconds);
}
