// The whole server: both ports, from start to drain.
#ifndef SEXTANT_SERVER_SERVER_H_
#define SEXTANT_SERVER_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <prometheus/registry.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_watch.h"
#include "server/base/periodic.h"
#include "server/call/calls_under_way.h"
#include "server/call/grpc_service.h"
#include "server/call/unread_answers.h"
#include "server/call/worker_pool.h"
#include "server/connect/connect_port.h"
#include "server/device/calibration_metrics.h"
#include "server/fleet/fleet_reader.h"
#include "server/gpu_activity/activity_monitor.h"
#include "server/handler/accounting_service.h"
#include "server/handler/hardware_service.h"
#include "server/handler/health_service.h"
#include "server/handler/planning_service.h"
#include "server/handler/telemetry_service.h"
#include "server/listen/channelz_server.h"
#include "server/listen/http_server.h"
#include "server/listen/listener.h"
#include "server/listen/stream_limits.h"
#include "server/metrics/metrics.h"
#include "server/metrics/probe_metrics.h"
#include "server/options.h"
#include "server/probe/host_probe.h"
#include "server/security/access.h"
#include "server/security/tls_files.h"
#include "server/store/calibration_store.h"
#include "server/store/supplied_calibrations.h"
#include "server/telemetry/job_progress.h"

namespace sextant::server {

// Tasks of a pool that have begun and wait for their turn, each with what it has computed so far.
inline constexpr size_t kMaxPausedCalls = 16;

class Server {
 public:
  // Listens on every address of `options` and serves at once.
  //
  // Errors: kUnavailable naming the address that can't be bound; kInvalidArgument naming a file of
  // certificates, tokens or rules that can't be read.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options);
  ~Server();

  // Lists this host's devices in the background and logs why it can't. Otherwise the first call
  // that needs the devices has them listed.
  void ListDevices();

  // Takes up calibrations that were put into the folder, and logs it. Certificates, tokens and
  // rules are watched in any case.
  void ReadAgain();

  // Reports NOT_SERVING, serves on while load balancers notice (drain_announce_seconds), refuses
  // new calls, waits for the rest (drain_grace_seconds), cancels those that are late, and kills the
  // probe that measures or lists for them.
  void Drain();

  // The addresses as clients write them, ports filled in.
  const std::vector<std::string>& grpc_addresses() const { return listener_->addresses(); }
  std::string http_address() const { return http_ == nullptr ? "" : http_->address(); }
  std::string channelz_address() const { return channelz_ == nullptr ? "" : channelz_->address(); }

 private:
  Server(const ServerOptions& options, std::unique_ptr<Access> access,
         std::unique_ptr<TlsContext> tls);
  absl::Status StartGrpc();
  absl::Status StartHttp();
  absl::Status StartConnect();
  absl::Status StartChannelz();
  // Gives the connection to gRPC, or closes it.
  void Take(int connection);

  const ServerOptions options_;
  const ConnectionLimits limits_;
  const std::unique_ptr<const Access> access_;
  const std::unique_ptr<TlsContext> tls_;  // null: plain text
  const std::shared_ptr<prometheus::Registry> registry_;
  Metrics metrics_;
  ProbeMetrics probe_metrics_;
  CalibrationStore store_;
  SuppliedCalibrations supplied_;
  CalibrationMetrics calibration_metrics_;
  ActivityMonitor activity_;
  ActivityMetrics activity_metrics_;
  JobProgress jobs_;
  LogMetrics log_metrics_;
  HostProbe probe_;
  CallsUnderWay under_way_;
  UnreadAnswers unread_;
  MemoryWatch memory_;
  std::atomic<bool> has_memory_{true};
  const std::shared_ptr<StreamLimits> streams_;
  // Single plans wait for no search, and a search gives way to them. A search for the layout of one
  // plan, which is bounded, waits for none of the others.
  WorkerPool workers_;
  WorkerPool short_searches_;
  WorkerPool searches_;
  const std::unique_ptr<FleetReader> fleet_;  // null: no fleet's metrics are read
  AccountingService accounting_;
  PlanningService planning_;
  HardwareService hardware_;
  TelemetryService telemetry_;
  std::vector<Service*> services_;  // those that the role has
  std::deque<GrpcService> grpc_services_;
  std::atomic<bool> ready_{false};
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> plain_acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> tls_acceptor_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<HealthService> health_;
  std::unique_ptr<ConnectPort> connect_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<ChannelzServer> channelz_;  // null: none was asked for
  std::unique_ptr<Periodic> upkeep_;
  std::unique_ptr<Periodic> memory_look_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_SERVER_H_
