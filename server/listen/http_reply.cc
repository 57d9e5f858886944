#include "server/listen/http_reply.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "server/call/status.h"
#include "server/call/worker_pool.h"
#include "server/listen/http_failure.h"
#include "server/listen/http_gzip.h"

namespace sextant::server {
namespace {

bool IsAddress(int family, absl::string_view text) {
  in6_addr parsed;
  return inet_pton(family, std::string(text).c_str(), &parsed) == 1;
}

// "", or ":9464".
bool IsPort(absl::string_view text) {
  return text.empty() ||
         (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), absl::ascii_isdigit));
}

bool IsOwnHost(absl::string_view host, const std::vector<std::string>& names) {
  if (absl::ConsumePrefix(&host, "[")) {
    const size_t end = std::min(host.find(']'), host.size());
    return end < host.size() && IsPort(host.substr(end + 1)) &&
           IsAddress(AF_INET6, host.substr(0, end));
  }
  const size_t colon = std::min(host.find(':'), host.size());
  if (!IsPort(host.substr(colon))) return false;
  host = host.substr(0, colon);
  return IsAddress(AF_INET, host) || absl::EqualsIgnoreCase(host, "localhost") ||
         std::any_of(names.begin(), names.end(), [host](const std::string& name) {
           return absl::EqualsIgnoreCase(name, host);
         });
}

// Below it the headers are most of an answer.
constexpr size_t kMinGzipBytes = 1024;

constexpr double kRetrySeconds = 1;

constexpr int kNoContent = 204;
constexpr int kNotModified = 304;

// For people who read along. Source: RFC 9110 section 15, RFC 6585; 499 is nginx's.
absl::string_view ReasonOf(int status) {
  struct Reason {
    int status;
    absl::string_view words;
  };
  static constexpr Reason kReasons[] = {
      {200, "OK"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
  };
  const auto* const found =
      std::find_if(std::begin(kReasons), std::end(kReasons),
                   [status](const Reason& reason) { return reason.status == status; });
  return found == std::end(kReasons) ? "" : found->words;
}

void AddHeader(absl::string_view name, absl::string_view value, std::string& out) {
  absl::StrAppend(&out, name, ": ", value, "\r\n");
}

bool HasEncoding(const HttpAnswer& answer) {
  return std::any_of(answer.headers.begin(), answer.headers.end(), [](const auto& header) {
    return absl::EqualsIgnoreCase(header.first, "Content-Encoding");
  });
}

}  // namespace

absl::Status CheckOrigin(const HttpHead& head, bool is_encrypted) {
  const absl::string_view origin = head.Header("origin");
  const absl::string_view host = head.Header("host");
  // Plain text may come from a proxy that ends TLS.
  const bool is_own =
      absl::EqualsIgnoreCase(origin, absl::StrCat("https://", host)) ||
      (!is_encrypted && absl::EqualsIgnoreCase(origin, absl::StrCat("http://", host)));
  if (!origin.empty() && !is_own) {
    return HttpError(HttpFault::kForeign,
                     "the Origin is another site's: this server answers its own pages alone");
  }
  // A link may lead here from anywhere: the page that has it does not see the answer.
  const bool is_link = head.method != "POST" && head.Header("sec-fetch-mode") == "navigate";
  if (head.Header("sec-fetch-site") == "cross-site" && !is_link) {
    return HttpError(HttpFault::kForeign,
                     "the request is another site's: this server answers its own pages alone");
  }
  return absl::OkStatus();
}

absl::Status CheckHost(absl::string_view host, const std::vector<std::string>& names) {
  if (IsOwnHost(host, names)) return absl::OkStatus();
  return HttpError(HttpFault::kForeign,
                   absl::StrCat("this server is not known by the name \"", host,
                                "\": call it by its address, send a token, or start it with "
                                "--http_host=NAME"));
}

absl::Status CheckEncoding(const HttpHead& head) {
  const absl::string_view encoding = head.Header("content-encoding");
  if (encoding.empty() || absl::EqualsIgnoreCase(encoding, "identity")) return absl::OkStatus();
  return HttpError(HttpFault::kEncoded, absl::StrCat("a body in the encoding \"", encoding,
                                                     "\" is not read: send it as it is, in "
                                                     "identity, the one that is supported"));
}

bool CallPlaces::HasPlace(const std::string& host) const {
  return free_ > (under_way_.count(host) > 0 ? reserved_ : 0);
}

bool CallPlaces::HasPlaceFor(const std::string& host) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return HasPlace(host);
}

bool CallPlaces::Take(const std::string& host) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!HasPlace(host)) return false;
  --free_;
  ++under_way_[host];
  return true;
}

void CallPlaces::Release(const std::string& host) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++free_;
  const auto of_host = under_way_.find(host);
  if (--of_host->second == 0) under_way_.erase(of_host);
}

absl::Status NoPlace() {
  return WithRetryDelay(
      HttpError(HttpFault::kBusy,
                "as many calls over HTTP are under way as it takes of this host, or of all"),
      kRetrySeconds);
}

HttpReply::HttpReply(HttpConnection& connection, const HttpHead& head, CallPlaces& places)
    : connection_(connection),
      head_(head),
      places_(places),
      host_(TurnOfHost(connection.peer_host())) {}

absl::Status HttpReply::BeginCall() {
  if (head_.body == HttpHead::Body::kNone) return TakePlace();
  if (IsHook(head_.path)) return absl::OkStatus();  // it answers in any case
  return places_.HasPlaceFor(host_) ? absl::OkStatus() : NoPlace();
}

absl::Status HttpReply::TakePlace() {
  has_place_ = places_.Take(host_);
  return has_place_ ? absl::OkStatus() : NoPlace();
}

absl::string_view HttpReply::method() const {
  return head_.method == "HEAD" ? "GET" : absl::string_view(head_.method);
}

absl::StatusOr<std::string> HttpReply::ReadBody(absl::Status* place) {
  absl::StatusOr<std::string> out = connection_.ReadBody(head_);
  is_body_read_ = out.ok();
  if (!out.ok() || has_place_) return out;
  const absl::Status taken = TakePlace();
  if (place != nullptr) {
    *place = taken;
  } else if (!taken.ok()) {
    return taken;
  }
  return out;
}

bool HttpReply::KeepsAlive() const {
  return head_.kind == HttpHead::Kind::kWhole && head_.keeps_alive &&
         (is_body_read_ || head_.body == HttpHead::Body::kNone);
}

std::string HttpReply::StartOf(int status, absl::string_view content_type) const {
  std::string out = absl::StrCat("HTTP/1.1 ", status, " ", ReasonOf(status), "\r\n");
  if (!content_type.empty()) AddHeader("Content-Type", content_type, out);
  AddHeader("X-Content-Type-Options", "nosniff", out);
  if (!KeepsAlive()) AddHeader("Connection", "close", out);
  return out;
}

void HttpReply::Answer(HttpAnswer answer) {
  std::string out = StartOf(answer.status, answer.content_type);
  if (answer.body.size() > kMinGzipBytes && !HasEncoding(answer)) {
    AddHeader("Vary", "Accept-Encoding", out);
    if (TakesGzip(head_.Header("accept-encoding"))) {
      answer.body = Gzip(answer.body);
      AddHeader("Content-Encoding", "gzip", out);
    }
  }
  for (const auto& [name, value] : answer.headers) AddHeader(name, value, out);
  if (answer.status != kNoContent && answer.status != kNotModified) {
    AddHeader("Content-Length", absl::StrCat(answer.body.size()), out);
  }
  absl::StrAppend(&out, "\r\n", head_.method == "HEAD" ? "" : absl::string_view(answer.body));
  is_answered_ = connection_.Send(out);
}

void HttpReply::BeginStream(absl::string_view content_type) {
  std::string out = StartOf(/*status=*/200, content_type);
  if (head_.is_1_1) AddHeader("Transfer-Encoding", "chunked", out);
  out += "\r\n";
  is_answered_ = false;
  connection_.Send(out);
}

bool HttpReply::Write(absl::string_view bytes) {
  if (bytes.empty() || head_.method == "HEAD") return true;
  if (!head_.is_1_1) return connection_.Send(bytes);
  return connection_.Send(absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n"));
}

void HttpReply::EndStream() {
  const bool has_end = head_.is_1_1 && head_.method != "HEAD";
  is_answered_ = !has_end || connection_.Send("0\r\n\r\n");
}

}  // namespace sextant::server
