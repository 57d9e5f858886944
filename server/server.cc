#include "server/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "engine/base/status_macros.h"
#include "server/base/address.h"
#include "server/base/log.h"
#include "server/listen/transport_tap.h"
#include "server/store/default_paths.h"

namespace sextant::server {
namespace {

constexpr int kMinPingIntervalMilliseconds = 10'000;
constexpr int kMaxPingStrikes = 5;
constexpr int kKeepaliveMilliseconds = 60'000;
constexpr int kMaxConnectionAgeMilliseconds = 600'000;
constexpr int kMaxConnectionAgeGraceMilliseconds = 30'000;
constexpr int kHandshakeMilliseconds = 10'000;
constexpr int kMaxStreamsPerConnection = 256;
constexpr size_t kMaxTransportBytes = 256 << 20;

// By default the searches of each pool leave a processor to all else where there are several.
WorkerPoolOptions SearchPool(const ServerOptions& options, std::shared_ptr<WaitMetrics> waits) {
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return {
      .threads = options.search_threads > 0 ? options.search_threads : std::max(1, processors - 1),
      .max_paused = kMaxPausedCalls,
      .niceness = options.search_niceness,
      .waits = std::move(waits)};
}

constexpr std::chrono::milliseconds kUpkeep(1000);
// In this time callers that mean harm fill 30 MB: gRPC takes in 50,000 streams a second.
constexpr std::chrono::milliseconds kMemoryLook(50);
constexpr int kLooksPerReturn = 20;

// For answers that are on their way.
constexpr std::chrono::milliseconds kFlush(20);

// --max_connections, where it is given, and the rest of what the limit of descriptors leaves.
ConnectionLimits LimitsOf(const ServerOptions& options) {
  ConnectionLimits out = ConnectionLimitsOfProcess();
  if (options.max_connections > 0) out.grpc = options.max_connections;
  if (out.are_short) {
    LogEvent(LogLevel::kWarning, "few_descriptors",
             {{"grpc_connections", absl::StrCat(out.grpc)},
              {"http_connections", absl::StrCat(out.http)},
              {"advice", "raise the limit of descriptors (ulimit -n, LimitNOFILE)"}});
  }
  return out;
}

// One host leaves room for others, but for servers with few connections.
constexpr size_t kFewConnections = 64;

StreamLimitOptions StreamLimitsOf(const ConnectionLimits& limits) {
  return {.most_connections_of_host = std::max(kFewConnections, limits.grpc / 2)};
}

// Runs once, before the first server is built.
void InitializeLibraries() {
  static std::once_flag once;
  std::call_once(once, [] {
    // protobuf writes a line to stderr for each request with text that is not UTF-8: a stranger
    // could fill the log. gRPC refuses such a request in any case.
    google::protobuf::SetLogHandler(nullptr);
#ifdef NDEBUG
    // Debian builds Abseil with its check of the order of locks, in which every lock of gRPC takes
    // one lock of the whole process.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

void Configure(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxReceiveBytes));
  builder.SetMaxSendMessageSize(static_cast<int>(kMaxAnswerBytes));
  // Clients that ping every 30 s, a common setting, must not be disconnected.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxPingStrikes);
  // Nor those that hold a channel without a call, from which gRPC takes a ping every two hours.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Finds callers whose hosts are gone, which keep their connections otherwise.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  // Connections end now and then, so that clients spread to new replicas.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kMaxConnectionAgeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             kMaxConnectionAgeGraceMilliseconds);
  // A client that connects and says nothing.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  // Limits gRPC's memory for messages under way: beyond it reads wait, and idle connections end.
  builder.SetResourceQuota(grpc::ResourceQuota("sextantd").Resize(kMaxTransportBytes));
}

TlsFiles TlsFilesOf(const ServerOptions& options) {
  return {.certificate = options.tls_certificate,
          .key = options.tls_key,
          .client_ca = options.tls_client_ca,
          .client_crl = options.tls_client_crl};
}

bool IsUnixSocket(int descriptor) {
  int family = 0;
  socklen_t length = sizeof(family);
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 && family == AF_UNIX;
}

// Empty: none.
std::string CalibrationFolder(const ServerOptions& options) {
  if (options.calibration_directory == "none") return "";
  return options.calibration_directory.empty() ? DefaultCalibrationDirectory()
                                               : options.calibration_directory;
}

ActivityMonitorOptions WatchingOf(const ServerOptions& options) {
  if (options.role == ServerRole::kPlanner) return {.period = {}};
  const absl::StatusOr<absl::Duration> period = SamplingPeriod(options.gpu_sampling);
  return {.period = absl::ToChronoMilliseconds(period.value_or(absl::ZeroDuration()))};
}

// The measured devices that the server knows, of whatever host.
std::vector<std::shared_ptr<const DeviceModel>> CurvesOf(const CalibrationSnapshot& known) {
  std::vector<std::shared_ptr<const DeviceModel>> out;
  for (const DeviceCalibrations& kept : known.calibrations) {
    if (known.distrusted.count(kept.device.uuid()) > 0) continue;
    for (const auto& stored : kept.by_mode) out.push_back(stored->model);
  }
  return out;
}

// Null where no fleet's metrics are to be read.
std::unique_ptr<FleetReader> FleetReaderOf(const ServerOptions& options,
                                           const CalibrationStore& store,
                                           prometheus::Registry& registry) {
  if (options.fleet_prometheus_url.empty()) return nullptr;
  auto api = PrometheusApi::Of(PrometheusOptionsOf(options));
  const auto interval = FleetInterval(options.fleet_interval);
  if (!api.ok() || !interval.ok()) return nullptr;  // ParseServerOptions() has refused them
  return std::make_unique<FleetReader>(
      FleetReaderOptions{
          .query = [api = std::shared_ptr<const PrometheusApi>(*std::move(api))](
                       const std::string& promql,
                       std::chrono::milliseconds limit) { return api->Query(promql, limit); },
          .curves = [&store] { return CurvesOf(*store.snapshot()); },
          .interval = *interval},
      registry);
}

std::chrono::duration<double> DurationOf(double seconds) {
  return std::chrono::duration<double>(seconds);
}

}  // namespace

Server::Server(const ServerOptions& options, std::unique_ptr<Access> access,
               std::unique_ptr<TlsContext> tls)
    : options_(options),
      limits_(LimitsOf(options)),
      access_(std::move(access)),
      tls_(std::move(tls)),
      registry_(std::make_shared<prometheus::Registry>()),
      metrics_(*registry_),
      probe_metrics_(*registry_, options.probe_metrics),
      store_(CalibrationFolder(options), options.hostname.empty() ? Hostname() : options.hostname),
      calibration_metrics_(store_, options.probe_metrics),
      activity_(WatchingOf(options)),
      activity_metrics_(store_, [this] { return activity_.Latest(); }),
      probe_({.path = options.probe_program,
              .library_folder = options.probe_library_folder,
              .hostname = options.hostname,
              .off = options.role == ServerRole::kPlanner},
             store_, probe_metrics_),
      memory_(options.max_memory_mib << 20),
      streams_(std::make_shared<StreamLimits>(StreamLimitsOf(limits_))),
      workers_({.max_paused = kMaxPausedCalls, .waits = metrics_.ForPool("plans")}),
      short_searches_(SearchPool(options, metrics_.ForPool("short_searches"))),
      searches_(SearchPool(options, metrics_.ForPool("searches"))),
      fleet_(FleetReaderOf(options, store_, *registry_)),
      accounting_(metrics_, {.calls = {.log_level = options.log_calls,
                                       .access = access_.get(),
                                       .large_calls = &workers_,
                                       .under_way = &under_way_,
                                       .unread = &unread_},
                             .calibrations = [this] { return store_.snapshot(); },
                             .now = absl::Now,
                             .supplied = &supplied_,
                             .workers = &workers_,
                             .fleet = fleet_.get()}),
      planning_(metrics_, {.calls = {.log_level = options.log_calls,
                                     .access = access_.get(),
                                     .large_calls = &workers_,
                                     .under_way = &under_way_,
                                     .unread = &unread_},
                           .calibrations = [this] { return store_.snapshot(); },
                           .now = absl::Now,
                           .supplied = &supplied_,
                           .workers = &workers_,
                           .short_searches = &short_searches_,
                           .searches = &searches_,
                           .fleet = fleet_.get()}),
      hardware_({.metrics = metrics_,
                 .calls = {.log_level = options.log_calls,
                           .access = access_.get(),
                           .large_calls = &workers_,
                           .under_way = &under_way_,
                           .unread = &unread_},
                 .store = store_,
                 .supplied = supplied_,
                 .probe = probe_,
                 .workers = workers_,
                 .fleet = fleet_.get()}),
      telemetry_({.metrics = metrics_,
                  .calls = {.log_level = options.log_calls,
                            .access = access_.get(),
                            .large_calls = &workers_,
                            .under_way = &under_way_,
                            .unread = &unread_},
                  .jobs = jobs_,
                  .host = [this] { return store_.snapshot(); },
                  .now = absl::Now}) {}

Server::~Server() {
  channelz_.reset();
  if (connect_ != nullptr) connect_->CancelCalls();
  // Without it the shutdown would wait for a probe to end.
  probe_.Stop();
  http_.reset();
  connect_.reset();
  if (listener_ != nullptr) listener_->Stop();
  if (grpc_ != nullptr) grpc_->Shutdown();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  InitializeLibraries();
  SEXTANT_ASSIGN_OR_RETURN(auto access,
                           Access::Load({.demands_certificate = !options.tls_client_ca.empty(),
                                         .token_file = options.token_file,
                                         .access_file = options.access_file,
                                         .allows_remote_probe = options.allow_remote_probe,
                                         .allows_remote_reports = options.allow_remote_reports}));
  std::unique_ptr<TlsContext> tls;
  if (!options.tls_certificate.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(tls, TlsContext::Load(TlsFilesOf(options)));
  }
  std::unique_ptr<Server> server(new Server(options, std::move(access), std::move(tls)));
  SEXTANT_RETURN_IF_ERROR(server->StartGrpc());
  SEXTANT_RETURN_IF_ERROR(server->StartHttp());
  SEXTANT_RETURN_IF_ERROR(server->StartChannelz());
  return server;
}

absl::Status Server::StartGrpc() {
  SEXTANT_ASSIGN_OR_RETURN(listener_, Listener::Open({.addresses = options_.listen,
                                                      .flag = "--listen",
                                                      .max_connections = limits_.grpc}));
  grpc::ServerBuilder builder;
  Configure(builder);
  const auto add = [&](Service& service) {
    builder.RegisterService(&grpc_services_.emplace_back(service));
    services_.push_back(&service);
  };
  if (options_.role != ServerRole::kAgent) {
    add(accounting_);
    add(planning_);
  }
  add(hardware_);
  if (options_.role != ServerRole::kPlanner) add(telemetry_);
  const auto acceptor = [&builder](std::shared_ptr<grpc::ServerCredentials> credentials) {
    return builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        std::move(credentials));
  };
  plain_acceptor_ = acceptor(grpc::InsecureServerCredentials());
  if (tls_ != nullptr) tls_acceptor_ = acceptor(tls_->GrpcCredentials());
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) return absl::InternalError("gRPC does not start");
  for (const Service* service : services_) {
    grpc_->GetHealthCheckService()->SetServingStatus(service->name(), true);
  }
  upkeep_ = std::make_unique<Periodic>(
      kUpkeep, [this] { unread_.EndOld(std::chrono::steady_clock::now()); });
  memory_look_ = std::make_unique<Periodic>(kMemoryLook, [this, looks = 0]() mutable {
    if (++looks % kLooksPerReturn == 0) memory_.ReturnFreed();
    has_memory_ = !memory_.IsOver();
    if (!has_memory_) streams_->CloseLargest(Excess::kMemory);
  });
  listener_->Serve([this](int connection) { Take(connection); });
  ready_ = true;
  return absl::OkStatus();
}

void Server::Take(int connection) {
  auto streams = streams_->Connect(TurnOfHost(PeerHost(connection)));
  if (streams == nullptr) {
    close(connection);
    return;
  }
  const bool is_plain = tls_acceptor_ == nullptr || IsUnixSocket(connection);
  TapConnection(connection, /*is_encrypted=*/!is_plain, std::move(streams));
  if (!is_plain) tls_->Refresh();
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
  taken.fd = connection;
  (is_plain ? plain_acceptor_ : tls_acceptor_)->HandleNewConnection(&taken);
}

absl::Status Server::StartConnect() {
  health_ = std::make_unique<HealthService>(metrics_, services_, [this] { return ready_.load(); });
  std::vector<Service*> all = services_;
  all.push_back(health_.get());
  SEXTANT_ASSIGN_OR_RETURN(connect_, ConnectPort::Of(all));
  return absl::OkStatus();
}

absl::Status Server::StartHttp() {
  if (options_.http_listen == "none") return absl::OkStatus();
  SEXTANT_RETURN_IF_ERROR(StartConnect());
  std::vector<const prometheus::Collectable*> collectables = {
      &calibration_metrics_, &activity_metrics_, &jobs_, &log_metrics_, streams_.get()};
  if (fleet_ != nullptr) collectables.push_back(fleet_.get());
  if (tls_ != nullptr) collectables.push_back(tls_.get());
  SEXTANT_ASSIGN_OR_RETURN(
      http_,
      HttpServer::Start({.address = options_.http_listen,
                         .max_connections = limits_.http,
                         .ready = [this] { return ready_ && has_memory_ && listener_->HasRoom(); },
                         .registry = registry_,
                         .collectables = std::move(collectables),
                         .tls = tls_.get(),
                         .access = access_.get(),
                         .hosts = options_.http_host,
                         .api = [this](HttpExchange& call) { return connect_->Answer(call); }}));
  return absl::OkStatus();
}

absl::Status Server::StartChannelz() {
  if (options_.channelz_listen == "none") return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(channelz_, ChannelzServer::Start(options_.channelz_listen));
  return absl::OkStatus();
}

void Server::ListDevices() {
  probe_.WhenListed([](const absl::Status& listed) {
    if (listed.ok() || absl::IsCancelled(listed)) return;
    LogEvent(LogLevel::kWarning, "devices_not_listed", {{"reason", std::string(listed.message())}});
  });
}

void Server::ReadAgain() {
  store_.ReadAgain();
  LogEvent(LogLevel::kInfo, "read_again", {{"calibrations", CalibrationFolder(options_)}});
}

void Server::Drain() {
  ready_ = false;
  grpc_->GetHealthCheckService()->Shutdown();
  std::this_thread::sleep_for(DurationOf(options_.drain_announce_seconds));
  under_way_.Close();
  listener_->Stop();
  const auto grace = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      DurationOf(options_.drain_grace_seconds));
  // A list of devices belongs to no call, so that none may be under way while a probe runs.
  under_way_.WaitUntilNone(std::chrono::steady_clock::now() + grace);
  probe_.Stop();
  std::this_thread::sleep_for(kFlush);
  // Calls that are late are cancelled, over gRPC with their connections; their callers get
  // UNAVAILABLE.
  if (connect_ != nullptr) connect_->CancelCalls();
  listener_->CloseConnections();
  grpc_->Shutdown();
  grpc_->Wait();
  if (connect_ != nullptr) connect_->AwaitCalls();
}

}  // namespace sextant::server
