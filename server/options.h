// The server's flags.
#ifndef SEXTANT_SERVER_OPTIONS_H_
#define SEXTANT_SERVER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/base/log.h"
#include "server/fleet/prometheus_api.h"
#include "server/metrics/probe_metrics.h"

namespace sextant::server {

// The jobs of a server.
enum class ServerRole {
  kAll,
  kAgent,    // of a host: measures its devices, shows them and its jobs, and plans nothing
  kPlanner,  // plans; measures nothing, and has no devices of its own
};

// Each field is the flag of the same name.
struct ServerOptions {
  ServerRole role = ServerRole::kAll;
  std::vector<std::string> listen = {"127.0.0.1:50051"};
  std::string http_listen = "127.0.0.1:9464";  // "none": no HTTP
  std::vector<std::string> http_host;          // names of this server for callers
  std::string channelz_listen = "none";        // a local address
  bool insecure_allow_remote = false;
  std::string tls_certificate;  // PEM files; empty: plain text
  std::string tls_key;
  std::string tls_client_ca;   // empty: callers show no certificate
  std::string tls_client_crl;  // empty: no certificate is revoked
  std::string token_file;      // empty: callers send no token
  std::string access_file;     // empty: every caller may call everything that is not privileged
  bool allow_remote_probe = false;
  bool allow_remote_reports = false;
  size_t max_connections = 0;  // of gRPC; 0: what the descriptor limit leaves, at most 10,000
  int64_t max_memory_mib = 1536;
  CallLogLevel log_calls = CallLogLevel::kAll;
  LogLevel log_level = LogLevel::kInfo;
  int search_niceness = 10;  // of the threads that search, as nice(1) has it
  int search_threads = 0;    // that search at a time; 0: one a processor, and one less of several
  double drain_announce_seconds = 1;
  double drain_grace_seconds = 10;
  bool stops_with_stdin = false;
  std::string hostname;               // empty: as the system reports it
  std::string probe_program;          // a path; empty: it is looked for
  std::string probe_library_folder;   // of CUDA's libraries; empty: where the system has them
  std::string calibration_directory;  // empty: DefaultCalibrationDirectory(); "none": no folder
  ProbeMetricsSet probe_metrics = ProbeMetricsSet::kFleet;
  std::string gpu_sampling = "5s";   // "none": GPUs are not watched
  std::string fleet_prometheus_url;  // empty: no fleet's metrics are read
  std::string fleet_interval = "15s";
  std::string fleet_ca_file;     // empty: the system's
  std::string fleet_token_file;  // empty: none
  std::string fleet_tenant;      // empty: none
};

// The options that the command line asks for; absent where it asks for --help or --version,
// whose text has then been printed to stdout.
//
// Errors: kInvalidArgument with a text for people.
absl::StatusOr<absl::optional<ServerOptions>> ParseServerOptions(int argc, const char* const* argv);

PrometheusOptions PrometheusOptionsOf(const ServerOptions& options);

// Returns the time between two reads of the fleet's metrics that --fleet_interval=`text` asks for.
// Errors: kInvalidArgument where it is not 1 s to an hour.
absl::StatusOr<absl::Duration> FleetInterval(absl::string_view text);

// Returns the period of GPU samples that --gpu_sampling=`text` asks for: "5s", "250ms"; 0 for
// "none".
// Errors: kInvalidArgument where it is neither, or not 100 ms to an hour.
absl::StatusOr<absl::Duration> SamplingPeriod(absl::string_view text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_OPTIONS_H_
