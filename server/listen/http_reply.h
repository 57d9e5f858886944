// A request of a connection, what is refused of it, and its answer.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_REPLY_H_
#define SEXTANT_SERVER_LISTEN_HTTP_REPLY_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "server/listen/http_connection.h"
#include "server/listen/http_exchange.h"
#include "server/listen/http_head.h"

namespace sextant::server {

// OK where no page but this server's own can have sent the request: its Origin, if it has one, is
// this host's, and it does not come from another site.
//
// Errors: HttpFault::kForeign.
absl::Status CheckOrigin(const HttpHead& head, bool is_encrypted);

// OK where `host`, a header Host, is an IP literal, localhost or one of `names`, with any port. A
// page whose name is bound to this server's address after it was loaded sends that name, and its
// Origin is the same: an IP literal can't be rebound.
//
// Errors: HttpFault::kForeign naming --http_host.
absl::Status CheckHost(absl::string_view host, const std::vector<std::string>& names);

// OK where the body is sent as it is: a library that decompresses 291 kB of it may need a GiB.
//
// Errors: HttpFault::kEncoded.
absl::Status CheckEncoding(const HttpHead& head);

// The places of calls, which are fewer than the threads. Half of them are for hosts that have no
// call under way, so that one host's calls never take all. Thread-safe.
class CallPlaces {
 public:
  explicit CallPlaces(size_t places) : reserved_(places / 2), free_(places) {}

  bool HasPlaceFor(const std::string& host) const;
  // False where there is none.
  bool Take(const std::string& host);
  // Gives back a place that `host` took.
  void Release(const std::string& host);

 private:
  // Under the lock.
  bool HasPlace(const std::string& host) const;

  const size_t reserved_;  // places that a host's first call alone may take
  mutable std::mutex mutex_;
  size_t free_;
  std::map<std::string, size_t> under_way_;  // calls by host
};

// The error of a call that gets no place: try again soon.
absl::Status NoPlace();

// All arguments outlive it.
class HttpReply final : public HttpExchange {
 public:
  HttpReply(HttpConnection& connection, const HttpHead& head, CallPlaces& places);
  ~HttpReply() override {
    if (has_place_) places_.Release(host_);
  }
  HttpReply(const HttpReply&) = delete;
  HttpReply& operator=(const HttpReply&) = delete;

  // Has the request answered as a call, which takes its place once its body has come: while a
  // client sends it, its connection gives way to newcomers.
  //
  // Errors: NoPlace().
  absl::Status BeginCall();

  absl::string_view method() const override;
  absl::string_view path() const override { return head_.path; }
  absl::optional<std::string> Parameter(const std::string& name) const override {
    return head_.Parameter(name);
  }
  absl::string_view Header(const std::string& name) const override { return head_.Header(name); }
  std::string peer() const override { return connection_.peer(); }
  std::string certificate_name() const override { return connection_.certificate_name(); }
  using HttpExchange::ReadBody;
  absl::StatusOr<std::string> ReadBody(absl::Status* place) override;
  Woken Await(int event, std::chrono::system_clock::time_point deadline) override {
    return connection_.Await(event, deadline);
  }
  void Answer(HttpAnswer answer) override;
  void BeginStream(absl::string_view content_type) override;
  bool Write(absl::string_view bytes) override;
  void EndStream() override;

  // True where the client may send a further request, once this one is answered.
  bool keeps_connection() const { return is_answered_ && KeepsAlive(); }

 private:
  absl::Status TakePlace();
  bool KeepsAlive() const;
  std::string StartOf(int status, absl::string_view content_type) const;

  HttpConnection& connection_;
  const HttpHead& head_;
  CallPlaces& places_;
  const std::string host_;  // whose place it takes
  bool has_place_ = false;
  bool is_body_read_ = false;
  bool is_answered_ = false;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_REPLY_H_
