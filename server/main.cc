// sextantd: starts, serves until SIGTERM or SIGINT, drains.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/version.h"
#include "server/call_log.h"
#include "server/options.h"
#include "server/server.h"
#include "server/termination.h"

namespace {

constexpr int kExitStartFailed = 1;
constexpr int kExitUsage = 2;

// The line that says where to call: scripts that ask for port 0 read it.
void LogServerEvent(const char* event, const sextant::Server& server) {
  nlohmann::ordered_json line;
  line["time"] = sextant::TimeText(std::chrono::system_clock::now());
  line["event"] = event;
  line["grpc"] = server.grpc_addresses();
  line["http"] = server.http_address();
  line["version"] = std::string(sextant::EngineVersion());
  line["pid"] = getpid();
  // Addresses come from the command line, where text need not be UTF-8.
  sextant::WriteLogLine(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): only out of memory, which ends the program.
int main(int argc, char** argv) {
  const auto options = sextant::ParseServerOptions(argc, argv);
  if (!options.ok()) {
    std::cerr << "sextantd: " << options.status().message() << "\nTry: sextantd --help\n";
    return kExitUsage;
  }
  if (!options->has_value()) return 0;

  const sigset_t signals = sextant::PrepareSignals();
  const auto server = sextant::Server::Start(**options);
  if (!server.ok()) {
    std::cerr << "sextantd: " << server.status().message() << "\n";
    return kExitStartFailed;
  }
  LogServerEvent("serving", **server);
  (*server)->ListDevices();
  sextant::WaitForTermination(signals);
  LogServerEvent("draining", **server);
  (*server)->Drain();
  LogServerEvent("stopped", **server);
  // All calls are answered. Not by return: that would wait for HTTP clients, and one that
  // sends a byte now and then can take for ever.
  std::_Exit(0);
}
