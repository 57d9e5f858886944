// One connection of the HTTP port: its bytes, and how long each wait for its client lasts.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_CONNECTION_H_
#define SEXTANT_SERVER_LISTEN_HTTP_CONNECTION_H_

#include <openssl/ssl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "server/listen/http_exchange.h"
#include "server/listen/http_head.h"

namespace sextant::server {

// Used by one thread, except Interrupt(), interrupted(), blocked() and since().
class HttpConnection {
 public:
  using Ssl = std::unique_ptr<SSL, void (*)(SSL*)>;

  // `ssl`: null for plain text. Owns `descriptor`, which does not block.
  HttpConnection(int descriptor, Ssl ssl);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Waits for a request; its head is whole, or refused. Absent where the connection ends.
  absl::optional<HttpHead> AwaitRequest();

  // The body of the request whose head is `head`, as HttpExchange::ReadBody() has it.
  absl::StatusOr<std::string> ReadBody(const HttpHead& head);

  // Sends all of `bytes`; false where the client left, or is slower than 64 KiB/s beyond 5 s.
  bool Send(absl::string_view bytes);

  HttpExchange::Woken Await(int event, std::chrono::system_clock::time_point deadline);

  // Where the client may be sending still, closing at once could take the answer from it.
  void Linger();

  // Ends the connection, which one thread may be waiting for.
  void Interrupt();

  // As CallContext has it: "ipv4:192.0.2.7:40312".
  const std::string& peer() const { return peer_; }
  // The same without the port.
  const std::string& peer_host() const { return peer_host_; }
  bool is_encrypted() const { return ssl_ != nullptr; }
  // The name in the client's certificate; "" for none.
  std::string certificate_name() const;

  bool interrupted() const { return interrupted_; }
  // True while a thread waits for the client to send or take bytes.
  bool blocked() const { return blocked_; }
  // When the request, or the wait for one, began.
  int64_t since() const { return since_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Begin(Clock::duration patience);
  // Appends what comes to received_; false where nothing does.
  bool Receive();
  absl::StatusOr<std::string> ReadChunks();
  // Why no more of a body comes.
  absl::Status EndOfBody() const;
  template <typename Function>
  ssize_t Transfer(short events, Function transfer);
  bool Wait(short events);

  const int descriptor_;
  const Ssl ssl_;
  std::string peer_;
  std::string peer_host_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> blocked_{false};
  std::atomic<int64_t> since_{0};
  Clock::time_point deadline_;
  std::string received_;  // and not used yet
  bool has_sent_ = false;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_CONNECTION_H_
