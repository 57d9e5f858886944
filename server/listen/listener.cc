#include "server/listen/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "server/base/address.h"

namespace sextant::server {
namespace {

// How long to wait for a descriptor to become free: sockets stay readable meanwhile.
constexpr int kStarvedMilliseconds = 100;
// How long a listener that was found full counts as full.
constexpr std::chrono::milliseconds kCountAge(20);
// How long an unacknowledged peer may keep its connection; gRPC's own default.
constexpr unsigned kUserTimeoutMilliseconds = 20'000;

constexpr size_t kMaxGrpcConnections = 10'000;
constexpr size_t kMaxHttpConnections = 128;
constexpr size_t kOtherDescriptors = 64;

bool IsListened(const sockaddr_un& name) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool answered = connect(probe, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  close(probe);
  return answered;
}

bool IsSocket(const std::string& path) {
  struct stat found = {};
  return lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

ino_t InodeOf(int descriptor) {
  struct stat found = {};
  return fstat(descriptor, &found) == 0 ? found.st_ino : 0;
}

// The options that connections inherit from the socket that they come in by.
void SetTcpOptions(int descriptor, int family) {
  const int yes = 1;
  const int no = 0;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMilliseconds,
             sizeof(kUserTimeoutMilliseconds));
  // "[::]" takes IPv4 as well.
  if (family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
}

int PortOf(int descriptor) {
  sockaddr_storage name = {};
  socklen_t length = sizeof(name);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &length);
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

ConnectionLimits ConnectionLimitsOf(size_t descriptors) {
  const size_t http = std::min(kMaxHttpConnections, descriptors / 4);
  const size_t others = std::min(kOtherDescriptors, descriptors / 2);
  return {.grpc = std::min(kMaxGrpcConnections, descriptors - http - others),
          .http = http,
          .are_short = http < kMaxHttpConnections || others < kOtherDescriptors};
}

ConnectionLimits ConnectionLimitsOfProcess() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return ConnectionLimitsOf(limit.rlim_cur);
}

absl::Status Listener::Refused(absl::string_view address, absl::string_view reason) const {
  return absl::UnavailableError(
      absl::StrCat("can't listen on ", address, ": ", reason, " (", options_.flag, ")"));
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(ListenerOptions options) {
  std::unique_ptr<Listener> out(new Listener(std::move(options)));
  out->stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  for (const std::string& address : out->options_.addresses) {
    SEXTANT_RETURN_IF_ERROR(address.rfind("unix:", 0) == 0 ? out->OpenUnix(address)
                                                           : out->OpenTcp(address));
  }
  return out;
}

absl::Status Listener::OpenUnix(const std::string& address) {
  const std::string path(absl::StripPrefix(address, "unix:"));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path)) {
    return Refused(address,
                   absl::StrCat("a path has 1 to ", sizeof(name.sun_path) - 1, " characters"));
  }
  path.copy(name.sun_path, path.size());
  if (IsSocket(path)) {
    if (IsListened(name)) return Refused(address, "another server does");
    unlink(path.c_str());  // left by one that was killed
  }
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket >= 0) sockets_.push_back(socket);
  if (socket < 0 || bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
    return Refused(address, std::strerror(errno));
  }
  paths_.push_back(path);
  if (listen(socket, SOMAXCONN) != 0) return Refused(address, std::strerror(errno));
  addresses_.push_back(address);
  return absl::OkStatus();
}

absl::Status Listener::OpenTcp(const std::string& address) {
  SEXTANT_ASSIGN_OR_RETURN(HostPort parts, SplitHostPort(address));
  std::string host = parts.host;
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return Refused(address, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, freeaddrinfo);
  absl::Status status;
  size_t opened = 0;
  for (addrinfo* each = list; each != nullptr; each = each->ai_next) {
    const int family = each->ai_family;
    const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) {  // e.g. ::1 of localhost where there is no IPv6
      status.Update(Refused(address, std::strerror(errno)));
      continue;
    }
    sockets_.push_back(socket);
    SetTcpOptions(socket, family);
    auto& port = family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(each->ai_addr)->sin6_port
                                    : reinterpret_cast<sockaddr_in*>(each->ai_addr)->sin_port;
    port = htons(static_cast<uint16_t>(parts.port));
    if (bind(socket, each->ai_addr, each->ai_addrlen) != 0 || listen(socket, SOMAXCONN) != 0) {
      // A name's second address that this host lacks is not a fault; a taken port is.
      if (errno != EADDRNOTAVAIL) return Refused(address, std::strerror(errno));
      status.Update(Refused(address, std::strerror(errno)));
      close(socket);
      sockets_.pop_back();
      continue;
    }
    parts.port = PortOf(socket);  // one port for all addresses of a name
    ++opened;
  }
  if (opened == 0) return status;
  addresses_.push_back(absl::StrCat(parts.host, ":", parts.port));
  return absl::OkStatus();
}

Listener::~Listener() {
  Stop();
  if (stop_ >= 0) close(stop_);
}

void Listener::Serve(std::function<void(int connection)> take) {
  thread_ = std::thread([this, take = std::move(take)] { Run(take); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(stop_, &one, sizeof(one));
    thread_.join();
  }
  for (const int socket : sockets_) close(socket);
  for (const std::string& path : paths_) unlink(path.c_str());
  sockets_.clear();
  paths_.clear();
}

void Listener::CloseConnections() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Connection& each : connections_) {
    if (InodeOf(each.descriptor) == each.inode) shutdown(each.descriptor, SHUT_RDWR);
  }
}

void Listener::Run(const std::function<void(int connection)>& take) {
  std::vector<pollfd> polled = {{.fd = stop_, .events = POLLIN, .revents = 0}};
  for (const int socket : sockets_) {
    polled.push_back({.fd = socket, .events = POLLIN, .revents = 0});
  }
  bool starved = false;
  while (true) {
    // Where it starves only a stop ends the wait early.
    poll(polled.data(), starved ? 1 : polled.size(), starved ? kStarvedMilliseconds : -1);
    if (polled[0].revents != 0) return;
    starved = false;
    for (const int socket : sockets_) starved = !Accept(socket, take) || starved;
    const std::lock_guard<std::mutex> lock(mutex_);
    starved_ = starved;
  }
}

bool Listener::Accept(int socket, const std::function<void(int connection)>& take) {
  while (true) {
    const int connection = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
      // Any other error is of one connection, or says that none waits.
      return !IsShortage(errno);
    }
    bool room = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      room = HasRoomLocked();
      if (room) connections_.push_back({connection, InodeOf(connection)});
    }
    if (room) {
      take(connection);
    } else {
      close(connection);
    }
  }
}

bool Listener::HasRoomLocked() {
  if (connections_.size() < options_.max_connections) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_count_) return false;
  const auto ended = [](const Connection& c) { return InodeOf(c.descriptor) != c.inode; };
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(), ended),
                     connections_.end());
  if (connections_.size() < options_.max_connections) return true;
  next_count_ = now + kCountAge;
  return false;
}

bool Listener::HasRoom() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !starved_ && HasRoomLocked();
}

}  // namespace sextant::server
