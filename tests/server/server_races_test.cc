// Many callers of both ports, in another process, while the server starts, changes, drains and
// ends. The answers say little here: the thread sanitizer looks on (preset tsan).
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/probe/child_process.h"
#include "server/server.h"
#include "tests/server/fake_probe.h"
#include "tests/server/raw_caller.h"
#include "tests/server/test_certificates.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

// Calls a server from now on, to the end of this.
class Callers {
 public:
  explicit Callers(const std::vector<std::string>& arguments)
      : process_(ChildProcess::Start(
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / "server_callers",
            arguments)) {
    EXPECT_TRUE(process_.ok()) << process_.status();
  }

  // Until each caller has made that many more calls.
  void AwaitCalls(int count) {
    constexpr int kPatienceMilliseconds = 120'000;
    while (count > 0) {
      pollfd polled = {.fd = process_->stdout_fd(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&polled, 1, kPatienceMilliseconds), 1) << "a caller's calls all fail";
      char line = 0;
      const ssize_t got = read(polled.fd, &line, 1);
      ASSERT_NE(got, 0) << "the callers have ended";
      if (got == 1) --count;
    }
  }

 private:
  absl::StatusOr<ChildProcess> process_;
};

// Free loopback ports; a probe that streams some progress and a result; a folder that it fills.
ServerOptions OptionsIn(const TemporaryFolder& folder) {
  ServerOptions options;
  options.listen = {"127.0.0.1:0", absl::StrCat("unix:", folder.File("socket"))};
  options.http_listen = "127.0.0.1:0";
  options.log_calls = CallLogLevel::kNone;
  options.drain_announce_seconds = 0.1;
  options.drain_grace_seconds = 0.3;
  options.probe_program =
      WriteScript(folder, "probe",
                  ListsAnd(absl::StrCat(WriteProgress("matmul", 0.1), WriteProgress("matmul", 0.5),
                                        WriteCalibration(FakeCalibration()))));
  options.calibration_directory = folder.File("calibrations");
  options.max_connections = 64;
  return options;
}

std::unique_ptr<Server> Started(const ServerOptions& options) {
  auto server = Server::Start(options);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

// Connections that say nothing that a server would understand, and end.
void Disturb(const Server& server) {
  for (const std::string& address : {server.grpc_addresses()[0], server.http_address()}) {
    const RawCaller silent(address);
    const RawCaller caller(address);
    caller.Send("GET /metrics HTTP/1.1\r\nX-");
  }
}

// The callers go on while the server ends.
TEST(ServerRaces, BetweenCallersOfBothPortsAndTheEnd) {
  const TemporaryFolder folder;
  for (const bool drains : {true, false, true, false}) {
    std::unique_ptr<Server> server = Started(OptionsIn(folder));
    Callers callers({server->grpc_addresses()[0], absl::StrCat("http://", server->http_address())});
    Callers local({server->grpc_addresses()[1], absl::StrCat("http://", server->http_address())});
    server->ListDevices();
    for (int i = 0; i < 4; ++i) {
      Disturb(*server);
      server->ReadAgain();
      callers.AwaitCalls(1);
    }
    local.AwaitCalls(4);
    if (drains) server->Drain();
    server.reset();
  }
}

// A connection may see its end, or another one's descriptor, while the last ones are closed.
TEST(ServerRaces, BetweenNewConnectionsAndTheEnd) {
  const TemporaryFolder folder;
  for (int round = 0; round < 8; ++round) {
    std::unique_ptr<Server> server = Started(OptionsIn(folder));
    const std::string address = server->grpc_addresses()[0];
    const std::string http = server->http_address();
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (const std::string& each : {address, http, address, http}) {
      threads.emplace_back([&ends, each] {
        std::vector<RawCaller> open;
        while (!ends) {
          open.emplace_back(each, RawCaller::MayFail{});
          open.back().Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
          if (open.size() > 20) open.clear();
        }
      });
    }
    for (int i = 0; i < 5; ++i) server->ReadAgain();
    if (round % 2 == 0) server->Drain();
    server.reset();
    ends = true;
    for (std::thread& thread : threads) thread.join();
  }
}

void Replace(const std::string& path, const std::string& text) {
  WriteFile(path + ".new", text);
  EXPECT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
}

// Tokens and rules are read again as well.
TEST(ServerRaces, BetweenHandshakesAndNewCertificates) {
  const TemporaryFolder folder;
  const TestAuthority authority("fleet");
  const CertificatePem caller = authority.Sign({.common_name = "node1"});
  Replace(folder.File("ca"), authority.pem());
  Replace(folder.File("own"), caller.certificate);
  Replace(folder.File("own_key"), caller.key);
  const auto renew = [&] {
    const CertificatePem servers = authority.Sign({.common_name = "sextantd"});
    Replace(folder.File("key"), servers.key);
    Replace(folder.File("certificate"), servers.certificate);
    Replace(folder.File("access"), "* node1\nRunProbe node1\nReportProgress node1\n");
  };
  renew();
  ServerOptions options = OptionsIn(folder);
  options.tls_certificate = folder.File("certificate");
  options.tls_key = folder.File("key");
  options.tls_client_ca = folder.File("ca");
  options.access_file = folder.File("access");
  for (const bool drains : {true, false}) {
    std::unique_ptr<Server> server = Started(options);
    const std::vector<std::string> arguments = {
        server->grpc_addresses()[0], absl::StrCat("https://", server->http_address()),
        folder.File("ca"), folder.File("own"), folder.File("own_key")};
    for (int i = 0; i < 3; ++i) {
      renew();
      Callers callers(arguments);
      callers.AwaitCalls(2);
      renew();
      callers.AwaitCalls(1);
    }
    if (drains) server->Drain();
    server.reset();
  }
}

}  // namespace
}  // namespace sextant::server
