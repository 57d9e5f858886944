// Many callers of both ports of a server, until this process is killed:
//   server_callers GRPC_ADDRESS HTTP_URL [CA OWN_CERTIFICATE OWN_KEY]
// Writes a line each time that every caller has made one more call that ended as it should.
#include <grpcpp/create_channel.h>
#include <httplib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sextant/v1/hardware_service.grpc.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "sextant/v1/telemetry_service.grpc.pb.h"

// The callers among themselves are not the thread sanitizer's business.
extern "C" const char* __tsan_default_options() { return "report_bugs=0"; }

namespace sextant::server {
namespace {

struct Door {
  std::string grpc;
  std::string http;
  std::string ca = {};  // a file, as the next two; empty: plain text
  std::string own_certificate = {};
  std::string own_key = {};
};

std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const Door& door) {
  if (door.ca.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = ContentOf(door.ca),
                               .pem_private_key = ContentOf(door.own_key),
                               .pem_cert_chain = ContentOf(door.own_certificate)});
}

v1::PlanRunRequest Search() {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset("llama-3.1-8b");
  out.mutable_training()->set_token_count(1'000'000'000'000);
  out.mutable_training()->set_sequence_length(8192);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_cluster()->set_device_count(64);
  return out;
}

v1::PlanRunRequest Plan() {
  v1::PlanRunRequest out = Search();
  out.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  out.mutable_layout()->set_global_batch_size(64);
  out.mutable_layout()->set_micro_batch_size(1);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return out;
}

grpc::ClientContext* Patient(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  return &context;
}

// One gRPC caller, with a connection of its own.
class Line {
 public:
  explicit Line(const Door& door) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    const auto channel = grpc::CreateCustomChannel(door.grpc, CredentialsOf(door), arguments);
    planning_ = v1::PlanningService::NewStub(channel);
    hardware_ = v1::HardwareService::NewStub(channel);
    telemetry_ = v1::TelemetryService::NewStub(channel);
  }

  bool Plans() {
    grpc::ClientContext context;
    v1::PlanRunResponse response;
    return planning_->PlanRun(Patient(context), Plan(), &response).ok();
  }

  // Bytes that a worker decodes.
  bool SendsMuch() {
    v1::PlanRunRequest request = Plan();
    request.mutable_model()->set_preset(std::string(100'000, 'x'));
    grpc::ClientContext context;
    v1::PlanRunResponse response;
    return planning_->PlanRun(Patient(context), request, &response).error_code() ==
           grpc::StatusCode::NOT_FOUND;
  }

  bool PlansMany() {
    v1::BatchPlanRunsRequest request;
    for (int i = 0; i < 4; ++i) *request.add_runs() = Plan();
    grpc::ClientContext context;
    v1::BatchPlanRunsResponse response;
    return planning_->BatchPlanRuns(Patient(context), request, &response).ok();
  }

  bool Watches() {
    grpc::ClientContext context;
    const auto reader = planning_->WatchPlanRun(Patient(context), Search());
    return ReadSome(context, *reader);
  }

  bool Probes() {
    grpc::ClientContext context;
    const auto reader = hardware_->RunProbe(Patient(context), {});
    return ReadSome(context, *reader);
  }

  bool Lists() {
    grpc::ClientContext context;
    v1::ListDevicesResponse response;
    return hardware_->ListDevices(Patient(context), {}, &response).ok();
  }

  bool Reports() {
    v1::ReportProgressRequest report;
    report.set_job_id("1234");
    report.mutable_start_time()->set_seconds(1'769'860'800);
    report.set_token_count(++calls_ * 1000);
    report.set_device_count(8);
    report.add_gpu_uuids("CPU-0123456789abcdef");  // the probe's
    report.set_model_flops_per_token(4e11);
    grpc::ClientContext context;
    v1::ReportProgressResponse response;
    return telemetry_->ReportProgress(Patient(context), report, &response).ok();
  }

 private:
  // Leaves before the first message, after it, after the second, or never.
  template <typename Message>
  bool ReadSome(grpc::ClientContext& context, grpc::ClientReader<Message>& reader) {
    const int to_read = calls_++ % 4;
    Message message;
    for (int read = 0; to_read == 3 || read < to_read; ++read) {
      if (!reader.Read(&message)) break;
    }
    if (to_read < 3) context.TryCancel();
    const grpc::StatusCode code = reader.Finish().error_code();
    return code == grpc::StatusCode::OK || code == grpc::StatusCode::CANCELLED;
  }

  std::unique_ptr<v1::PlanningService::Stub> planning_;
  std::unique_ptr<v1::HardwareService::Stub> hardware_;
  std::unique_ptr<v1::TelemetryService::Stub> telemetry_;
  int calls_ = 0;
};

// Makes one more call; true where it ended as it should.
using Caller = std::function<bool()>;

Caller GetterOf(const Door& door, const char* page, bool keeps) {
  const auto connect = [door] {
    auto out = door.ca.empty() ? std::make_shared<httplib::Client>(door.http)
                               : std::make_shared<httplib::Client>(door.http, door.own_certificate,
                                                                   door.own_key);
    out->set_ca_cert_path(door.ca);
    out->set_keep_alive(true);
    return out;
  };
  return [page, connect, kept = keeps ? connect() : nullptr] {
    const auto answer = (kept == nullptr ? connect() : kept)->Get(page);
    return answer && (answer->status == 200 || answer->status == 503);
  };
}

std::vector<Caller> CallersOf(const Door& door) {
  std::vector<Caller> out;
  for (bool (Line::*const method)() :
       {&Line::Plans, &Line::SendsMuch, &Line::PlansMany, &Line::Watches, &Line::Probes,
        &Line::Lists, &Line::Reports, &Line::Plans, &Line::Watches}) {
    out.push_back([line = std::make_shared<Line>(door), method] { return ((*line).*method)(); });
  }
  out.push_back(GetterOf(door, "/metrics", /*keeps=*/true));
  out.push_back(GetterOf(door, "/metrics", /*keeps=*/false));
  out.push_back(GetterOf(door, "/readyz", /*keeps=*/false));
  return out;
}

[[noreturn]] void CallForEver(const Door& door) {
  const std::vector<Caller> callers = CallersOf(door);
  std::vector<std::atomic<int>> calls(callers.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < callers.size(); ++i) {
    threads.emplace_back([&caller = callers[i], &made = calls[i]] {
      while (true) {
        if (caller()) {
          ++made;
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      }
    });
  }
  for (int written = 0;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const int made = *std::min_element(calls.begin(), calls.end());
    for (; written < made; ++written) (void)!write(STDOUT_FILENO, "\n", 1);
  }
}

}  // namespace
}  // namespace sextant::server

int main(int count, char** arguments) {
  if (count != 3 && count != 6) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // they end with the test, however it ends
  sextant::server::Door door = {.grpc = arguments[1], .http = arguments[2]};
  if (count == 6) {
    door.ca = arguments[3];
    door.own_certificate = arguments[4];
    door.own_key = arguments[5];
  }
  sextant::server::CallForEver(door);
}
