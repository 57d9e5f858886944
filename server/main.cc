// sextantd: starts, serves until SIGTERM or SIGINT, drains.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/version.h"
#include "server/base/log.h"
#include "server/options.h"
#include "server/server.h"

namespace {

constexpr int kExitStartFailed = 1;
constexpr int kExitUsage = 2;
constexpr rlim_t kMaxDescriptors = 65'536;

// Logs the addresses: scripts that ask for port 0 read this line.
void LogServerEvent(const char* event, const sextant::server::Server& server) {
  if (!sextant::server::IsLogged(sextant::server::LogLevel::kInfo)) return;
  nlohmann::ordered_json line;
  line["time"] = sextant::server::TimeText(std::chrono::system_clock::now());
  line["level"] = sextant::server::LogLevelName(sextant::server::LogLevel::kInfo);
  line["event"] = event;
  line["grpc"] = server.grpc_addresses();
  line["http"] = server.http_address();
  line["version"] = std::string(sextant::EngineVersion());
  line["pid"] = getpid();
  // Addresses come from the command line, where text need not be UTF-8.
  sextant::server::WriteLogLine(
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and all that it starts, ignores SIGPIPE, and
// resets SIGCHLD so that the ends of children can be waited for. Call it before any other thread
// starts, gRPC's included: they inherit the mask, so that only WaitForTermination() sees them.
sigset_t PrepareSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  // An ignored SIGCHLD, which survives exec, keeps the system from reporting how a child ended.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
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

// From a thread of its own sends SIGTERM to this process when standard input ends.
void WatchStdin() {
  std::thread([] {
    char ignored[256];
    ssize_t got = 0;
    do {
      got = read(STDIN_FILENO, ignored, sizeof(ignored));
    } while (got > 0 || (got < 0 && errno == EINTR));
    kill(getpid(), SIGTERM);
  }).detach();
}

// Waits for SIGTERM or SIGINT, and has files read again at each SIGHUP. From then on a further
// signal ends the process at once.
void WaitForTermination(const sigset_t& signals, sextant::server::Server& server) {
  int signal_number = 0;
  while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) server.ReadAgain();
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
  sextant::server::SetLeastLogLevel((*options)->log_level);

  RaiseDescriptorLimit();
  const sigset_t signals = PrepareSignals();
  if ((*options)->stops_with_stdin) WatchStdin();
  const auto server = sextant::server::Server::Start(**options);
  if (!server.ok()) {
    std::cerr << "sextantd: " << server.status().message() << "\n";
    return kExitStartFailed;
  }
  LogServerEvent("serving", **server);
  (*server)->ListDevices();
  WaitForTermination(signals, **server);
  LogServerEvent("draining", **server);
  (*server)->Drain();
  LogServerEvent("stopped", **server);
  return 0;
}
