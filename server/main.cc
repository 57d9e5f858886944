// sextantd: starts, serves until SIGTERM or SIGINT, drains.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/version.h"
#include "server/call/log.h"
#include "server/options.h"
#include "server/server.h"

namespace {

constexpr int kExitStartFailed = 1;
constexpr int kExitUsage = 2;
constexpr rlim_t kMaxDescriptors = 65'536;

// Logs the addresses: scripts that ask for port 0 read this line.
void LogServerEvent(const char* event, const sextant::server::Server& server) {
  nlohmann::ordered_json line;
  line["time"] = sextant::server::TimeText(std::chrono::system_clock::now());
  line["event"] = event;
  line["grpc"] = server.grpc_addresses();
  line["http"] = server.http_address();
  line["version"] = std::string(sextant::EngineVersion());
  line["pid"] = getpid();
  // Addresses come from the command line, where text need not be UTF-8.
  sextant::server::WriteLogLine(
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// Blocks SIGTERM and SIGINT in this thread and all that it starts, ignores SIGPIPE, and resets
// SIGCHLD so that the ends of children can be waited for. Call it before any other thread starts,
// gRPC's included: they inherit the mask, so that only WaitForTermination() sees the signals.
sigset_t PrepareSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  // An ignored SIGCHLD, which survives exec, keeps the system from reporting how a child ended.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// Each connection takes a descriptor. The usual soft limit of 1,024 is for programs that select().
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kMaxDescriptors);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Waits until one of `signals` arrives. From then on a further one ends the process at once.
void WaitForTermination(const sigset_t& signals) {
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): only out of memory, which ends the program.
int main(int argc, char** argv) {
  const auto options = sextant::server::ParseServerOptions(argc, argv);
  if (!options.ok()) {
    std::cerr << "sextantd: " << options.status().message() << "\nTry: sextantd --help\n";
    return kExitUsage;
  }
  if (!options->has_value()) return 0;

  RaiseDescriptorLimit();
  const sigset_t signals = PrepareSignals();
  const auto server = sextant::server::Server::Start(**options);
  if (!server.ok()) {
    std::cerr << "sextantd: " << server.status().message() << "\n";
    return kExitStartFailed;
  }
  LogServerEvent("serving", **server);
  (*server)->ListDevices();
  WaitForTermination(signals);
  LogServerEvent("draining", **server);
  (*server)->Drain();
  LogServerEvent("stopped", **server);
  return 0;
}
