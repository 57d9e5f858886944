// Listening sockets, and the limit on the connections that come in by them.
#ifndef SEXTANT_SERVER_LISTEN_LISTENER_H_
#define SEXTANT_SERVER_LISTEN_LISTENER_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// How many connections each port takes of the descriptors that a process may open.
struct ConnectionLimits {
  size_t grpc = 0;
  size_t http = 0;
  bool are_short = false;  // fewer are kept in reserve than are meant to be

  friend bool operator==(const ConnectionLimits&, const ConnectionLimits&) = default;
};

// A process with all of its connections in use still has descriptors for files, pipes and
// libraries: 64, or half of all where there are few. HTTP takes 128, or a quarter.
ConnectionLimits ConnectionLimitsOf(size_t descriptors);

// Those of this process.
ConnectionLimits ConnectionLimitsOfProcess();

struct ListenerOptions {
  std::vector<std::string> addresses;  // "host:port", port 0: any free one; or "unix:PATH"
  std::string flag;                    // names the addresses in errors: "--listen"
  size_t max_connections = 0;          // open ones at a time; a further one is closed at once
};

// Takes connections on a thread of its own. gRPC's own listener ends for good where a process is
// once out of descriptors, and tells nobody; this one goes on as soon as there are some.
class Listener {
 public:
  // Opens all sockets. Callers may connect, and wait, before Serve().
  //
  // Errors: kUnavailable naming address, reason and flag.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(ListenerOptions options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Hands each connection's descriptor, which does not block, to `take`, which owns it and closes
  // it, until Stop(). Once.
  void Serve(std::function<void(int connection)> take);

  // Closes the sockets; connections stay. Later calls do nothing.
  void Stop();

  // Ends the connections that are open: their owners read the end of the stream. After Stop().
  void CloseConnections();

  // The addresses as clients write them, with the ports.
  const std::vector<std::string>& addresses() const { return addresses_; }

  // False while a further connection would be closed, or wait for a descriptor. Thread-safe.
  bool HasRoom();

 private:
  // The inode tells a connection from a later one with its descriptor.
  struct Connection {
    int descriptor;
    ino_t inode;
  };

  explicit Listener(ListenerOptions options) : options_(std::move(options)) {}
  absl::Status OpenUnix(const std::string& address);
  absl::Status OpenTcp(const std::string& address);
  absl::Status Refused(absl::string_view address, absl::string_view reason) const;
  void Run(const std::function<void(int connection)>& take);
  // Takes what waits at `socket`; false where the process is out of descriptors or memory.
  bool Accept(int socket, const std::function<void(int connection)>& take);
  bool HasRoomLocked();

  const ListenerOptions options_;
  std::vector<std::string> addresses_;
  std::vector<int> sockets_;
  std::vector<std::string> paths_;  // of Unix sockets, removed by Stop()
  int stop_ = -1;                   // an eventfd: readable when it is time to stop
  std::thread thread_;

  std::mutex mutex_;
  std::vector<Connection> connections_;  // some may have ended
  std::chrono::steady_clock::time_point next_count_;
  bool starved_ = false;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_LISTENER_H_
