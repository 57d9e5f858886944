#include "server/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "engine/base/status_macros.h"
#include "server/call/log.h"
#include "server/store/default_paths.h"

namespace sextant::server {
namespace {

constexpr int kMaxReceiveBytes = 1 << 20;
constexpr int kMinPingIntervalMilliseconds = 10'000;
constexpr int kMaxPingStrikes = 5;
constexpr int kMaxConnectionAgeMilliseconds = 600'000;
constexpr int kMaxConnectionAgeGraceMilliseconds = 30'000;

// Runs once, before the first server is built.
void InitializeLibraries() {
  static std::once_flag once;
  std::call_once(once, [] {
    // protobuf writes a line to stderr for each request with text that is not UTF-8: a stranger
    // could fill the log. gRPC refuses such a request in any case.
    google::protobuf::SetLogHandler(nullptr);
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

void Configure(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  builder.SetMaxSendMessageSize(static_cast<int>(kMaxAnswerBytes));
  // Two servers on one port would silently share its calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Clients that ping every 30 s, a common setting, must not be disconnected.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxPingStrikes);
  // Connections end now and then, so that clients spread to new replicas.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kMaxConnectionAgeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             kMaxConnectionAgeGraceMilliseconds);
}

// gRPC takes a unix socket over from a server that still listens on it, and unlinks it when it ends
// itself; TCP refuses. This check refuses both.
absl::Status CheckSocketIsFree(absl::string_view address) {
  sockaddr_un name = {};
  if (!absl::ConsumePrefix(&address, "unix:")) return absl::OkStatus();
  if (address.size() >= sizeof(name.sun_path)) return absl::OkStatus();  // gRPC reports it
  name.sun_family = AF_UNIX;
  address.copy(name.sun_path, address.size());
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool answered = connect(probe, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  close(probe);
  return answered ? absl::UnavailableError(absl::StrCat("can't listen on grpc unix:", address,
                                                        ": another server does (--listen)"))
                  : absl::OkStatus();
}

// Empty: none.
std::string CalibrationFolder(const ServerOptions& options) {
  if (options.calibration_directory == "none") return "";
  return options.calibration_directory.empty() ? DefaultCalibrationDirectory()
                                               : options.calibration_directory;
}

ActivityMonitorOptions WatchingOf(const ServerOptions& options) {
  const absl::StatusOr<absl::Duration> period = SamplingPeriod(options.gpu_sampling);
  return {.period = absl::ToChronoMilliseconds(period.value_or(absl::ZeroDuration()))};
}

std::chrono::duration<double> DurationOf(double seconds) {
  return std::chrono::duration<double>(seconds);
}

}  // namespace

Server::Server(const ServerOptions& options)
    : options_(options),
      registry_(std::make_shared<prometheus::Registry>()),
      metrics_(*registry_),
      probe_metrics_(*registry_, options.probe_metrics),
      store_(CalibrationFolder(options)),
      calibration_metrics_(store_, options.probe_metrics),
      activity_(WatchingOf(options)),
      activity_metrics_(store_, [this] { return activity_.Latest(); }),
      probe_({.path = options.probe_program, .library_folder = options.probe_library_folder},
             store_, probe_metrics_),
      accounting_(metrics_, {.log_level = options.log_calls,
                             .calibrations = [this] { return store_.snapshot(); },
                             .now = absl::Now,
                             .supplied = &supplied_,
                             .workers = &workers_}),
      planning_(metrics_, {.log_level = options.log_calls,
                           .calibrations = [this] { return store_.snapshot(); },
                           .now = absl::Now,
                           .supplied = &supplied_,
                           .workers = &workers_}),
      hardware_({.metrics = metrics_,
                 .log_level = options.log_calls,
                 .store = store_,
                 .supplied = supplied_,
                 .probe = probe_,
                 .workers = workers_}) {}

Server::~Server() {
  http_.reset();
  // Without it the shutdown would wait for a probe to end.
  probe_.Stop();
  if (grpc_ != nullptr) grpc_->Shutdown();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  InitializeLibraries();
  std::unique_ptr<Server> server(new Server(options));
  SEXTANT_RETURN_IF_ERROR(server->StartGrpc());
  SEXTANT_RETURN_IF_ERROR(server->StartHttp());
  return server;
}

absl::Status Server::StartGrpc() {
  for (const std::string& address : options_.listen) {
    SEXTANT_RETURN_IF_ERROR(CheckSocketIsFree(address));
  }
  grpc::ServerBuilder builder;
  Configure(builder);
  builder.RegisterService(&accounting_);
  builder.RegisterService(&planning_);
  builder.RegisterService(&hardware_);
  std::vector<int> ports(options_.listen.size(), 0);
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    builder.AddListeningPort(options_.listen[i], grpc::InsecureServerCredentials(), &ports[i]);
  }
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("can't listen on grpc ",
                                               absl::StrJoin(options_.listen, ", "),
                                               ": is the address taken? (--listen)"));
  }
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    const std::string& address = options_.listen[i];
    if (absl::StartsWith(address, "unix:")) {
      grpc_addresses_.push_back(address);
      continue;
    }
    SEXTANT_ASSIGN_OR_RETURN(const HostPort parts, SplitHostPort(address));
    grpc_addresses_.push_back(absl::StrCat(parts.host, ":", ports[i]));
  }
  for (const char* service : {"sextant.v1.AccountingService", "sextant.v1.PlanningService",
                              "sextant.v1.HardwareService"}) {
    grpc_->GetHealthCheckService()->SetServingStatus(service, true);
  }
  ready_ = true;
  return absl::OkStatus();
}

absl::Status Server::StartHttp() {
  if (options_.http_listen == "none") return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(const HostPort parts, SplitHostPort(options_.http_listen));
  // httplib takes an IPv6 address without the brackets of host:port.
  std::string host = parts.host;
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  HttpOptions http = {.host = std::move(host),
                      .port = parts.port,
                      .ready = [this] { return ready_.load(); },
                      .registry = registry_,
                      .collectables = {&calibration_metrics_, &activity_metrics_, &log_metrics_}};
  SEXTANT_ASSIGN_OR_RETURN(http_, HttpServer::Start(std::move(http)));
  http_address_ = absl::StrCat(parts.host, ":", http_->port());
  return absl::OkStatus();
}

void Server::ListDevices() {
  probe_.WhenListed([](const absl::Status& listed) {
    if (listed.ok() || absl::IsCancelled(listed)) return;
    LogEvent("devices_not_listed", {{"reason", std::string(listed.message())}});
  });
}

void Server::Drain() {
  ready_ = false;
  grpc_->GetHealthCheckService()->Shutdown();
  std::this_thread::sleep_for(DurationOf(options_.drain_announce_seconds));
  const auto grace = std::chrono::duration_cast<std::chrono::system_clock::duration>(
      DurationOf(options_.drain_grace_seconds));
  const auto end = std::chrono::system_clock::now() + grace;
  // gRPC cancels late calls but waits for each to end, and a list of devices belongs to no call.
  std::promise<void> drained;
  std::thread late([&, all = drained.get_future()] {
    if (all.wait_until(end) == std::future_status::timeout) probe_.Stop();
  });
  grpc_->Shutdown(end);
  grpc_->Wait();
  drained.set_value();
  late.join();
}

}  // namespace sextant::server
