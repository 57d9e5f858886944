#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "server/base/address.h"

namespace sextant::server {
namespace {

constexpr double kMaxDrainSeconds = 3600;

void DefineSecurityFlags(CLI::App& app, ServerOptions& options) {
  const auto file = [&app](const char* flag, std::string& path, const char* text) {
    app.add_option(flag, path, text)->type_name("FILE");
  };
  file("--tls_certificate", options.tls_certificate,
       "the server's certificate and its chain, PEM; all ports but Unix sockets then speak TLS");
  file("--tls_key", options.tls_key, "its private key, PEM");
  file("--tls_client_ca", options.tls_client_ca,
       "callers show a certificate that one of these signed, PEM");
  file("--tls_client_crl", options.tls_client_crl,
       "certificates that are revoked: a list of each authority above a caller, PEM");
  file("--token_file", options.token_file,
       "callers send a bearer token; lines NAME TOKEN [EXPIRES]");
  file("--access_file", options.access_file,
       "who may call what; lines METHOD NAME..., * for all other methods or all known callers");
  app.add_flag("--allow_remote_probe", options.allow_remote_probe,
               "let callers on other hosts run the probe");
  app.add_flag("--allow_remote_reports", options.allow_remote_reports,
               "let jobs report their progress from other addresses than this host's own");
}

void DefineFlags(CLI::App& app, ServerOptions& options) {
  app.set_version_flag("--version", absl::StrCat("sextantd ", EngineVersion()));
  const std::map<std::string, ServerRole> roles = {
      {"all", ServerRole::kAll}, {"agent", ServerRole::kAgent}, {"planner", ServerRole::kPlanner}};
  app.add_option("--role", options.role,
                 "agent: measures this host's devices, and plans nothing; planner: plans, and has "
                 "no devices (default: all)")
      ->transform(CLI::CheckedTransformer(roles).description(""))
      ->type_name("all|agent|planner");
  app.add_option("--listen", options.listen,
                 "gRPC: host:port (port 0: any free one) or unix:PATH; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--http_listen", options.http_listen,
                 "HTTP address, host:port, for the API, /metrics, /healthz and /readyz; or none")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--http_host", options.http_host,
                 "names by which callers over HTTP know the server, with addresses and "
                 "localhost, with commas between; may be repeated")
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->type_name("NAME");
  app.add_option("--channelz_listen", options.channelz_listen,
                 "gRPC's own view of its connections, grpc.channelz.v1, for this host alone: "
                 "127.0.0.1:port or unix:PATH; or none")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_flag("--insecure_allow_remote", options.insecure_allow_remote,
               "listen beyond this host open to all who reach the port, in plain text without "
               "--tls_certificate");
  DefineSecurityFlags(app, options);
  app.add_option("--max_connections", options.max_connections,
                 "gRPC connections at a time; a further one is closed at once (default: what the "
                 "limit of descriptors leaves, at most 10,000)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("COUNT");
  app.add_option(
         "--max_memory_mib", options.max_memory_mib,
         "Resident memory beyond which the gRPC connection with the most streams is closed, "
         "and /readyz says 503 (default: 1536)")
      ->check(CLI::Range(64, 1'000'000).description(""))
      ->type_name("MIB");
  const std::map<std::string, CallLogLevel> levels = {{"none", CallLogLevel::kNone},
                                                      {"errors", CallLogLevel::kErrors},
                                                      {"all", CallLogLevel::kAll}};
  app.add_option("--log_calls", options.log_calls,
                 "which calls write a JSON line to stderr (default: all)")
      ->transform(CLI::CheckedTransformer(levels).description(""))
      ->type_name("all|errors|none");
  const std::map<std::string, LogLevel> least = {
      {"info", LogLevel::kInfo}, {"warning", LogLevel::kWarning}, {"error", LogLevel::kError}};
  app.add_option("--log_level", options.log_level,
                 "the least level of the lines on stderr, of calls and of all else (default: info)")
      ->transform(CLI::CheckedTransformer(least).description(""))
      ->type_name("info|warning|error");
  app.add_option("--search_niceness", options.search_niceness,
                 "0 to 19, as nice(1) has it: how far searches give way to all else on this host")
      ->check(CLI::Range(0, 19).description(""))
      ->type_name("NUMBER")
      ->capture_default_str();
  app.add_option("--search_threads", options.search_threads,
                 "threads that search at a time, each kind of search its own (default: one a "
                 "processor, and one less where there are several)")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("COUNT");
  app.add_option("--drain_announce_seconds", options.drain_announce_seconds,
                 "after SIGTERM: how long to serve on while health says NOT_SERVING")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--drain_grace_seconds", options.drain_grace_seconds,
                 "after that: how long calls under way may take to finish")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_flag("--stop_with_stdin", options.stops_with_stdin,
               "stop as on SIGTERM when standard input ends: a pipe from the program that started "
               "it, however that ends");
}

void DefineFleetFlags(CLI::App& app, ServerOptions& options) {
  app.add_option("--hostname", options.hostname,
                 "the name of this host that its devices and series show (default: the system's)")
      ->type_name("NAME");
  app.add_option("--fleet_prometheus_url", options.fleet_prometheus_url,
                 "the Prometheus that scrapes the fleet's agents: plans may then name any of its "
                 "hosts")
      ->type_name("URL");
  app.add_option("--fleet_interval", options.fleet_interval,
                 "how long rates that were read from it are used before they are read again")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--fleet_ca_file", options.fleet_ca_file,
                 "who signed its certificate, PEM (default: whom the system trusts)")
      ->type_name("FILE");
  app.add_option("--fleet_token_file", options.fleet_token_file, "a bearer token to send to it")
      ->type_name("FILE");
  app.add_option("--fleet_tenant", options.fleet_tenant,
                 "the tenant of a shared one (Mimir, Thanos, Cortex), sent as X-Scope-OrgID")
      ->type_name("NAME");
}

void DefineProbeFlags(CLI::App& app, ServerOptions& options) {
  app.add_option("--probe_program", options.probe_program,
                 "the sextant-probe to run (default: in the folder of this program, else in $PATH)")
      ->type_name("PATH");
  app.add_option(
         "--probe_library_folder", options.probe_library_folder,
         "folder of CUDA's libraries cuBLASLt, cuDNN and NCCL for the probe (default: where "
         "the system has them)")
      ->type_name("PATH");
  app.add_option("--calibration_directory", options.calibration_directory,
                 "where calibrations are kept; or none (default: $STATE_DIRECTORY/calibrations, "
                 "else sextant/calibrations in $XDG_STATE_HOME or ~/.local/state)")
      ->type_name("PATH");
  const std::map<std::string, ProbeMetricsSet> sets = {{"fleet", ProbeMetricsSet::kFleet},
                                                       {"full", ProbeMetricsSet::kFull}};
  app.add_option("--probe_metrics", options.probe_metrics,
                 "which of the probe's figures /metrics shows: at most 16 series a device, or "
                 "all (default: fleet)")
      ->transform(CLI::CheckedTransformer(sets).description(""))
      ->type_name("fleet|full");
  app.add_option("--gpu_sampling", options.gpu_sampling,
                 "how often NVML is asked what this host's GPUs do, for /metrics; or none")
      ->type_name("DURATION")
      ->capture_default_str();
}

absl::Status CheckSeconds(absl::string_view flag, double seconds) {
  if (seconds >= 0 && seconds <= kMaxDrainSeconds) return absl::OkStatus();  // NaN fails
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " must be 0 to ", kMaxDrainSeconds, " seconds"));
}

absl::Status CheckAddress(absl::string_view flag, const std::string& address,
                          const ServerOptions& options) {
  if (!absl::StartsWith(address, "unix:")) {
    if (const auto parts = SplitHostPort(address); !parts.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(flag, ": ", parts.status().message()));
    }
  }
  if (IsLocalAddress(address) || options.insecure_allow_remote) return absl::OkStatus();
  if (options.tls_certificate.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, "=", address,
        " can be reached from other hosts, in plain text and by anyone: listen on 127.0.0.1, give "
        "--tls_certificate and --tls_key with --tls_client_ca or --token_file, or say "
        "--insecure_allow_remote"));
  }
  if (options.tls_client_ca.empty() && options.token_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, "=", address,
        " can be reached from other hosts by anyone: give --tls_client_ca or --token_file, or say "
        "--insecure_allow_remote"));
  }
  return absl::OkStatus();
}

absl::Status CheckSecurity(const ServerOptions& options) {
  const auto needs = [](absl::string_view flag, const std::string& value, absl::string_view other,
                        bool has_other) {
    return value.empty() || has_other
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(flag, " needs ", other));
  };
  const bool has_tls = !options.tls_certificate.empty();
  SEXTANT_RETURN_IF_ERROR(
      needs("--tls_certificate", options.tls_certificate, "--tls_key", !options.tls_key.empty()));
  SEXTANT_RETURN_IF_ERROR(needs("--tls_key", options.tls_key, "--tls_certificate", has_tls));
  SEXTANT_RETURN_IF_ERROR(
      needs("--tls_client_ca", options.tls_client_ca, "--tls_certificate and --tls_key", has_tls));
  SEXTANT_RETURN_IF_ERROR(needs("--tls_client_crl", options.tls_client_crl, "--tls_client_ca",
                                !options.tls_client_ca.empty()));
  SEXTANT_RETURN_IF_ERROR(needs("--access_file", options.access_file,
                                "--tls_client_ca or --token_file: names of callers",
                                !options.tls_client_ca.empty() || !options.token_file.empty()));
  // A token that is sent in plain text is everyone's.
  const auto is_local = [](const std::string& address) { return IsLocalAddress(address); };
  const bool all_local = std::all_of(options.listen.begin(), options.listen.end(), is_local) &&
                         (options.http_listen == "none" || IsLocalAddress(options.http_listen));
  return needs("--token_file", options.token_file,
               "--tls_certificate and --tls_key where other hosts can call", has_tls || all_local);
}

// Without this check the probe would find no library in it, and say so only when it measures.
absl::Status CheckLibraryFolder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = folder;
  if (folder.empty() || (path.is_absolute() && std::filesystem::is_directory(path, error))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--probe_library_folder=", folder,
                   " is not the absolute path of a folder that is there: give the one that holds "
                   "libcublasLt.so, or leave it out"));
}

// Values that would break a header or a label.
absl::Status CheckPrintable(absl::string_view flag, const std::string& value) {
  constexpr size_t kMax = 253;
  const bool printable = std::all_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (printable && value.size() <= kMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " must have up to ", kMax, " printable characters and no blanks"));
}

// "planner.example": what a header Host has before its port.
bool IsHostName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
  });
}

absl::Status CheckFleetOptions(const ServerOptions& options) {
  SEXTANT_RETURN_IF_ERROR(CheckPrintable("--hostname", options.hostname));
  SEXTANT_RETURN_IF_ERROR(CheckPrintable("--fleet_tenant", options.fleet_tenant));
  SEXTANT_RETURN_IF_ERROR(FleetInterval(options.fleet_interval).status());
  if (options.fleet_prometheus_url.empty()) {
    const std::string* const needless[] = {&options.fleet_ca_file, &options.fleet_token_file,
                                           &options.fleet_tenant};
    for (const std::string* value : needless) {
      if (!value->empty()) {
        return absl::InvalidArgumentError(
            "--fleet_ca_file, --fleet_token_file and --fleet_tenant need --fleet_prometheus_url");
      }
    }
    return absl::OkStatus();
  }
  if (options.role == ServerRole::kAgent) {
    return absl::InvalidArgumentError(
        "--fleet_prometheus_url is for servers that plan: leave it out with --role=agent");
  }
  const bool plain = absl::StartsWith(options.fleet_prometheus_url, "http://");
  if (plain && !options.fleet_token_file.empty() && !options.insecure_allow_remote) {
    return absl::InvalidArgumentError(
        "--fleet_token_file would be sent in plain text to --fleet_prometheus_url: use https, or "
        "say --insecure_allow_remote");
  }
  return PrometheusApi::Of(PrometheusOptionsOf(options)).status();
}

absl::Status Check(const ServerOptions& options) {
  SEXTANT_RETURN_IF_ERROR(CheckFleetOptions(options));
  SEXTANT_RETURN_IF_ERROR(CheckSecurity(options));
  for (const std::string& address : options.listen) {
    SEXTANT_RETURN_IF_ERROR(CheckAddress("--listen", address, options));
  }
  for (const std::string& name : options.http_host) {
    if (!IsHostName(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--http_host=", name, ": write a host's name alone, such as planner.example"));
    }
  }
  if (options.http_listen != "none") {
    SEXTANT_RETURN_IF_ERROR(SplitHostPort(options.http_listen).status());
    SEXTANT_RETURN_IF_ERROR(CheckAddress("--http_listen", options.http_listen, options));
  }
  if (options.channelz_listen != "none") {
    if (!IsLocalAddress(options.channelz_listen)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--channelz_listen=", options.channelz_listen,
          " can be reached from other hosts, and shows who calls: write 127.0.0.1:port or "
          "unix:PATH"));
    }
    SEXTANT_RETURN_IF_ERROR(CheckAddress("--channelz_listen", options.channelz_listen, options));
  }
  SEXTANT_RETURN_IF_ERROR(CheckLibraryFolder(options.probe_library_folder));
  SEXTANT_RETURN_IF_ERROR(SamplingPeriod(options.gpu_sampling).status());
  SEXTANT_RETURN_IF_ERROR(CheckSeconds("--drain_announce_seconds", options.drain_announce_seconds));
  return CheckSeconds("--drain_grace_seconds", options.drain_grace_seconds);
}

}  // namespace

PrometheusOptions PrometheusOptionsOf(const ServerOptions& options) {
  return {.url = options.fleet_prometheus_url,
          .ca_file = options.fleet_ca_file,
          .token_file = options.fleet_token_file,
          .tenant = options.fleet_tenant};
}

absl::StatusOr<absl::Duration> FleetInterval(absl::string_view text) {
  absl::Duration interval;
  if (absl::ParseDuration(text, &interval) && interval >= absl::Seconds(1) &&
      interval <= absl::Hours(1)) {
    return interval;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--fleet_interval=", text, " is not 1s to 1h, e.g. 15s"));
}

absl::StatusOr<absl::Duration> SamplingPeriod(absl::string_view text) {
  if (text == "none") return absl::ZeroDuration();
  absl::Duration period;
  // NVML wants its samples more than 100 ms apart: the wait starts after the sample.
  if (absl::ParseDuration(text, &period) && period >= absl::Milliseconds(100) &&
      period <= absl::Hours(1)) {
    return period;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--gpu_sampling=", text, " is not 100ms to 1h, e.g. 5s, nor none"));
}

absl::StatusOr<absl::optional<ServerOptions>> ParseServerOptions(int argc,
                                                                 const char* const* argv) {
  ServerOptions options;
  CLI::App app("sextantd: the Sextant planning server (gRPC, package sextant.v1)", "sextantd");
  DefineFlags(app, options);
  DefineProbeFlags(app, options);
  DefineFleetFlags(app, options);
  app.footer(
      "Stops on SIGTERM or SIGINT; SIGHUP has calibrations read again. Prints one JSON line when "
      "it serves, then one a call.\n"
      "Example: sextantd --listen=127.0.0.1:50051 --listen=unix:/run/sextant.sock");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, std::cout, std::cout);
    return absl::optional<ServerOptions>();
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  SEXTANT_RETURN_IF_ERROR(Check(options));
  return absl::optional<ServerOptions>(std::move(options));
}

}  // namespace sextant::server
