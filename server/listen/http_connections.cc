#include "server/listen/http_connections.h"

#include <httplib.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/listen/http_head.h"

namespace sextant::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kIdle(30);    // until a request's first byte
constexpr std::chrono::seconds kRequest(5);  // from there to its last
constexpr std::chrono::seconds kAnswer(5);   // to send the answer
constexpr std::chrono::seconds kLinger(1);   // for what the client still sends to a refusal
// No page takes a body, and headers of 8 KiB are what most servers allow.
constexpr size_t kMaxRequestBytes = 16'384;
constexpr size_t kMaxWaiting = 32;

// The numeric address and port of one end.
using NameOfSocket = int(int descriptor, sockaddr* name, socklen_t* length);
void AddressOf(NameOfSocket* name_of, int descriptor, std::string& host, int& port) {
  sockaddr_storage name = {};
  socklen_t length = sizeof(name);
  char host_text[NI_MAXHOST] = {};
  char port_text[NI_MAXSERV] = {};
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  if (name_of(descriptor, address, &length) != 0 ||
      getnameinfo(address, length, host_text, sizeof(host_text), port_text, sizeof(port_text),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return;
  }
  host = host_text;
  port = std::atoi(port_text);
}

}  // namespace

// Used by one thread, except Interrupt(), blocked() and since().
class HttpConnection final : public httplib::Stream {
 public:
  using Ssl = std::unique_ptr<SSL, void (*)(SSL*)>;

  HttpConnection(int descriptor, Ssl ssl) : descriptor_(descriptor), ssl_(std::move(ssl)) {
    if (ssl_ != nullptr) {
      SSL_set_fd(ssl_.get(), descriptor);
      SSL_set_accept_state(ssl_.get());  // the first read shakes hands
      SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    int port = 0;
    AddressOf(getpeername, descriptor, peer_, port);
    Begin(kIdle);
  }
  ~HttpConnection() override { close(descriptor_); }

  // Waits for the whole head of a request, which read() then hands out; false where the connection
  // ends: none comes, or one that has been refused.
  bool AwaitRequest() {
    if (ended_) return false;
    Begin(kIdle);
    left_ = 0;
    answering_ = false;
    if (received_.empty() && !Receive()) return false;
    Begin(kRequest);
    HttpHead head = ReadHttpHead(received_);
    while (head.kind == HttpHead::Kind::kPartial && received_.size() < kMaxRequestBytes) {
      if (!Receive()) return false;
      head = ReadHttpHead(received_);
    }
    if (head.kind == HttpHead::Kind::kWhole) {
      left_ = head.bytes;
      ended_ = head.has_body;
      return true;
    }
    if (head.kind != HttpHead::Kind::kGarbage) Refuse(head.status);
    return false;
  }

  // Where the client may be sending still, closing at once could take the answer from it.
  void Linger() {
    if (!answering_) return;
    shutdown(descriptor_, SHUT_WR);
    Begin(kLinger);
    for (size_t taken = 0; taken < kMaxRequestBytes; taken += received_.size()) {
      received_.clear();
      if (!Receive()) return;
    }
  }

  // Ends the connection, which one thread may be waiting for.
  void Interrupt() {
    interrupted_ = true;
    shutdown(descriptor_, SHUT_RDWR);
  }

  const SSL* ssl() const { return ssl_.get(); }
  const std::string& peer() const { return peer_; }
  bool interrupted() const { return interrupted_; }
  // True while a thread waits for the client.
  bool blocked() const { return blocked_; }
  // When the request, or the wait for one, began.
  int64_t since() const { return since_; }

  // Bytes of the head alone.
  ssize_t read(char* out, size_t size) override {
    const size_t taken = std::min(size, left_);
    if (taken == 0) return -1;
    std::copy_n(received_.begin(), taken, out);
    received_.erase(0, taken);
    left_ -= taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* data, size_t size) override {
    if (!answering_) Begin(kAnswer);
    answering_ = true;
    return Transfer(POLLOUT, [&] {
      return ssl_ == nullptr ? send(descriptor_, data, size, MSG_NOSIGNAL)
                             : SSL_write(ssl_.get(), data, SizeForSsl(size));
    });
  }

  bool is_readable() const override { return left_ > 0; }
  bool is_writable() const override { return true; }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    AddressOf(getpeername, descriptor_, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    AddressOf(getsockname, descriptor_, ip, port);
  }
  socket_t socket() const override { return descriptor_; }

 private:
  void Begin(std::chrono::seconds patience) {
    const Clock::time_point now = Clock::now();
    since_ = now.time_since_epoch().count();
    deadline_ = now + patience;
  }

  // Appends what comes to received_.
  bool Receive() {
    char buffer[4096];
    const ssize_t received = Transfer(POLLIN, [&] {
      return ssl_ == nullptr ? recv(descriptor_, buffer, sizeof(buffer), 0)
                             : SSL_read(ssl_.get(), buffer, SizeForSsl(sizeof(buffer)));
    });
    if (received <= 0) return false;
    received_.append(buffer, static_cast<size_t>(received));
    return true;
  }

  void Refuse(int status) {
    // A partial head that is not refused for what it says is too long.
    const absl::string_view line = status == 400   ? "400 Bad Request"
                                   : status == 405 ? "405 Method Not Allowed\r\nAllow: GET, HEAD"
                                                   : "431 Request Header Fields Too Large";
    const std::string answer =
        absl::StrCat("HTTP/1.1 ", line, "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    for (size_t sent = 0; sent < answer.size();) {
      const ssize_t moved = write(answer.data() + sent, answer.size() - sent);
      if (moved <= 0) return;
      sent += static_cast<size_t>(moved);
    }
  }

  static int SizeForSsl(size_t size) {
    return static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
  }

  // The result of `transfer` once it moved bytes; at most 0 if the connection or the time ends.
  template <typename Function>
  ssize_t Transfer(short events, Function transfer) {
    while (Clock::now() < deadline_) {  // also where bytes are always ready
      ERR_clear_error();
      const ssize_t moved = transfer();
      if (moved > 0) return moved;
      if (ssl_ != nullptr) {
        const int error = SSL_get_error(ssl_.get(), static_cast<int>(moved));
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return -1;
        events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
      } else if (moved == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
        return -1;
      }
      if (!Wait(events)) return -1;
    }
    return -1;
  }

  bool Wait(short events) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) return false;
    pollfd polled = {.fd = descriptor_, .events = events, .revents = 0};
    blocked_ = true;
    const int ready = poll(&polled, 1, static_cast<int>(left));
    blocked_ = false;
    return ready > 0 || (ready < 0 && errno == EINTR);
  }

  const int descriptor_;
  const Ssl ssl_;
  std::string peer_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> blocked_{false};
  std::atomic<int64_t> since_{0};
  Clock::time_point deadline_;
  std::string received_;  // of this request, and what has come of the next
  size_t left_ = 0;       // of this request's head, to be read
  bool answering_ = false;
  bool ended_ = false;  // after this request
};

HttpConnections::HttpConnections(size_t threads, TlsContext* tls, Answer answer)
    : tls_(tls), answer_(std::move(answer)) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

HttpConnections::~HttpConnections() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    waiting_.clear();
    for (const auto& connection : served_) connection->Interrupt();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HttpConnections::Take(int descriptor) {
  auto connection = std::make_shared<HttpConnection>(
      descriptor, tls_ == nullptr ? HttpConnection::Ssl(nullptr, SSL_free) : tls_->NewConnection());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return;
    waiting_.push_back(std::move(connection));
    if (waiting_.size() > idle_threads_) MakeRoom();
    if (waiting_.size() > kMaxWaiting) waiting_.pop_front();
  }
  changed_.notify_one();
}

void HttpConnections::MakeRoom() {
  std::map<std::string, size_t> of_peer;
  for (const auto& connection : served_) ++of_peer[connection->peer()];
  HttpConnection* chosen = nullptr;
  const auto goes_before = [&of_peer](const HttpConnection& a, const HttpConnection& b) {
    const size_t more = of_peer[a.peer()];
    const size_t fewer = of_peer[b.peer()];
    return more != fewer ? more > fewer : a.since() < b.since();
  };
  for (const auto& connection : served_) {
    if (!connection->blocked() || connection->interrupted()) continue;
    if (chosen == nullptr || goes_before(*connection, *chosen)) chosen = connection.get();
  }
  if (chosen != nullptr) chosen->Interrupt();
}

void HttpConnections::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_threads_;
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    --idle_threads_;
    if (ended_) return;
    // The newest first: room was made for it, and the older ones may be all of one client.
    const std::shared_ptr<HttpConnection> connection = std::move(waiting_.back());
    waiting_.pop_back();
    served_.push_back(connection);
    lock.unlock();
    while (connection->AwaitRequest() && answer_(*connection, connection->ssl())) {
    }
    connection->Linger();
    lock.lock();
    served_.erase(std::find(served_.begin(), served_.end(), connection));
  }
}

}  // namespace sextant::server
