// Servers in processes of their own, for what is measured from outside of them.
#ifndef SEXTANT_TESTS_BENCHMARKS_SERVER_PROCESS_H_
#define SEXTANT_TESTS_BENCHMARKS_SERVER_PROCESS_H_

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "server/server.h"

namespace sextant::server {

// Without files, a probe, HTTP and a log.
inline ServerOptions BareServer() {
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.http_listen = "none";
  options.log_calls = CallLogLevel::kNone;
  options.probe_program = "/nowhere";
  options.calibration_directory = "none";
  return options;
}

// Writes the address of a bare server to `address_out` and serves until `stop_in` says something.
inline void ServeSextant(int address_out, int stop_in) {
  const auto server = Server::Start(BareServer());
  dprintf(address_out, "%s\n", (*server)->grpc_addresses()[0].c_str());
  char unused = 0;
  (void)!read(stop_in, &unused, 1);
}

// A server in a child process; it stops when this object, or this process, goes.
class Child {
 public:
  // gRPC may not have been used in this process yet: it does not survive a fork.
  explicit Child(void (*serve)(int, int)) {
    int address[2];
    int stop[2];
    if (pipe(address) != 0 || pipe(stop) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(address[1], stop[0]);
      _exit(0);
    }
    close(stop[0]);
    close(address[1]);
    stop_ = stop[1];
    address_in_ = address[0];
  }
  Child(const Child&) = delete;
  ~Child() {
    // Not by closing it: children made later hold it open too.
    (void)!write(stop_, "", 1);
    waitpid(pid_, nullptr, 0);
  }

  std::string ReadAddress() const {
    std::string out;
    for (char c = 0; read(address_in_, &c, 1) == 1 && c != '\n';) out += c;
    return out;
  }

  // User and system time so far.
  double CpuSeconds() const {
    clockid_t clock = 0;
    timespec time = {};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) std::abort();
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

 private:
  pid_t pid_ = 0;
  int stop_ = -1;
  int address_in_ = -1;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_BENCHMARKS_SERVER_PROCESS_H_
