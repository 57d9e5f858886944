#include "server/listen/http_connection.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "server/base/address.h"
#include "server/call/call.h"
#include "server/listen/http_failure.h"
#include "server/security/tls_files.h"

namespace sextant::server {
namespace {

constexpr std::chrono::seconds kIdle(30);     // until a request's first byte
constexpr std::chrono::seconds kHeadTime(5);  // from there to the last of its head
constexpr std::chrono::seconds kBodyTime(10);
constexpr std::chrono::seconds kAnswerTime(5);  // and what a slow line needs for its bytes
constexpr int64_t kSlowestBytesPerSecond = 65'536;
constexpr std::chrono::seconds kLinger(1);  // for what the client still sends to a refusal
constexpr size_t kMaxHeadBytes = 16'384;
constexpr size_t kMaxLingerBytes = 2 * kMaxReceiveBytes;

int PeerPort(int descriptor) {
  sockaddr_storage name = {};
  socklen_t length = sizeof(name);
  getpeername(descriptor, reinterpret_cast<sockaddr*>(&name), &length);
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

int SizeForSsl(size_t size) {
  return static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
}

// As poll() takes it: until `deadline`, which may be the largest value, at most an hour; 0 once it
// has passed.
template <typename Clock>
int MillisecondsUntil(std::chrono::time_point<Clock> deadline) {
  constexpr std::chrono::hours kMax(1);
  const auto now = Clock::now();
  if (deadline <= now) return 0;
  if (deadline - kMax > now) return static_cast<int>(std::chrono::milliseconds(kMax).count());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count());
}

}  // namespace

HttpConnection::HttpConnection(int descriptor, Ssl ssl)
    : descriptor_(descriptor), ssl_(std::move(ssl)), peer_host_(PeerHost(descriptor)) {
  if (ssl_ != nullptr) {
    SSL_set_fd(ssl_.get(), descriptor);
    SSL_set_accept_state(ssl_.get());  // the first read shakes hands
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  peer_ = absl::StrCat(absl::StrReplaceAll(peer_host_, {{"[", "%5B"}, {"]", "%5D"}}), ":",
                       PeerPort(descriptor));
  Begin(kIdle);
}

HttpConnection::~HttpConnection() { close(descriptor_); }

absl::optional<HttpHead> HttpConnection::AwaitRequest() {
  Begin(kIdle);
  has_sent_ = false;
  if (received_.empty() && !Receive()) return absl::nullopt;
  Begin(kHeadTime);
  HttpHead head = ReadHttpHead(received_);
  while (head.kind == HttpHead::Kind::kPartial && received_.size() < kMaxHeadBytes) {
    if (!Receive()) return absl::nullopt;
    head = ReadHttpHead(received_);
  }
  if (head.kind == HttpHead::Kind::kGarbage) return absl::nullopt;
  if (head.kind == HttpHead::Kind::kPartial || head.bytes > kMaxHeadBytes) {
    head = {.kind = HttpHead::Kind::kRefused,
            .error = HttpError(HttpFault::kLargeHead, absl::StrCat("the headers have more than ",
                                                                   kMaxHeadBytes, " bytes"))};
  }
  if (head.kind == HttpHead::Kind::kWhole) received_.erase(0, head.bytes);
  return head;
}

absl::StatusOr<std::string> HttpConnection::ReadBody(const HttpHead& head) {
  if (head.body == HttpHead::Body::kNone) return std::string();
  if (head.awaits_100 && received_.empty() && !Send("HTTP/1.1 100 Continue\r\n\r\n")) {
    return EndOfBody();
  }
  has_sent_ = false;
  Begin(kBodyTime);
  if (head.body == HttpHead::Body::kChunked) return ReadChunks();
  while (received_.size() < head.length) {
    if (!Receive()) return EndOfBody();
  }
  std::string body = received_.substr(0, head.length);
  received_.erase(0, head.length);
  return body;
}

absl::StatusOr<std::string> HttpConnection::ReadChunks() {
  ChunkedBody body;
  while (true) {
    size_t taken = 0;
    SEXTANT_RETURN_IF_ERROR(body.Take(received_, taken));
    received_.erase(0, taken);
    if (body.is_whole()) return std::move(body.content());
    if (!Receive()) return EndOfBody();
  }
}

absl::Status HttpConnection::EndOfBody() const {
  if (!interrupted_ && Clock::now() >= deadline_) {
    return HttpError(HttpFault::kSlowBody,
                     absl::StrCat("the body takes more than ", kBodyTime.count(), " s to come"));
  }
  return WithReason(absl::CancelledError("the caller left before its request had come"),
                    "CALL_CANCELLED");
}

bool HttpConnection::Send(absl::string_view bytes) {
  Begin(kAnswerTime +
        std::chrono::seconds(static_cast<int64_t>(bytes.size()) / kSlowestBytesPerSecond));
  has_sent_ = true;
  while (!bytes.empty()) {
    const ssize_t moved = Transfer(POLLOUT, [&] {
      return ssl_ == nullptr ? send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                             : SSL_write(ssl_.get(), bytes.data(), SizeForSsl(bytes.size()));
    });
    if (moved <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(moved));
  }
  return true;
}

// A connection is not `blocked` meanwhile: the server is what takes long.
HttpExchange::Woken HttpConnection::Await(int event,
                                          std::chrono::system_clock::time_point deadline) {
  while (true) {
    // Without POLLIN: what comes may be the next request, which waits.
    pollfd polled[] = {{.fd = event, .events = POLLIN, .revents = 0},
                       {.fd = descriptor_, .events = POLLRDHUP, .revents = 0}};
    const int left = MillisecondsUntil(deadline);
    const int ready = poll(polled, 2, left);
    if (ready > 0 && polled[0].revents != 0) return HttpExchange::Woken::kEvent;
    if (ready > 0) return HttpExchange::Woken::kClientLeft;
    if (ready == 0 && left == 0) return HttpExchange::Woken::kDeadline;
  }
}

void HttpConnection::Linger() {
  if (!has_sent_) return;
  shutdown(descriptor_, SHUT_WR);
  Begin(kLinger);
  for (size_t taken = 0; taken < kMaxLingerBytes; taken += received_.size()) {
    received_.clear();
    if (!Receive()) return;
  }
}

void HttpConnection::Interrupt() {
  interrupted_ = true;
  shutdown(descriptor_, SHUT_RDWR);
}

std::string HttpConnection::certificate_name() const {
  if (ssl_ == nullptr) return "";
  const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get1_peer_certificate(ssl_.get()),
                                                           X509_free);
  return certificate == nullptr ? "" : NameOfCertificate(certificate.get());
}

void HttpConnection::Begin(Clock::duration patience) {
  const Clock::time_point now = Clock::now();
  since_ = now.time_since_epoch().count();
  deadline_ = now + patience;
}

bool HttpConnection::Receive() {
  char buffer[16'384];
  const ssize_t received = Transfer(POLLIN, [&] {
    return ssl_ == nullptr ? recv(descriptor_, buffer, sizeof(buffer), 0)
                           : SSL_read(ssl_.get(), buffer, SizeForSsl(sizeof(buffer)));
  });
  if (received <= 0) return false;
  received_.append(buffer, static_cast<size_t>(received));
  return true;
}

// The result of `transfer` once it moved bytes; at most 0 if the connection or the time ends.
template <typename Function>
ssize_t HttpConnection::Transfer(short events, Function transfer) {
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

bool HttpConnection::Wait(short events) {
  const int left = MillisecondsUntil(deadline_);
  if (left <= 0) return false;
  pollfd polled = {.fd = descriptor_, .events = events, .revents = 0};
  blocked_ = true;
  const int ready = poll(&polled, 1, left);
  blocked_ = false;
  return ready > 0 || (ready < 0 && errno == EINTR);
}

}  // namespace sextant::server
