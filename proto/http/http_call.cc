#include "proto/http/http_call.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sextant::http {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kIdle(1);

// A connection to come, which OpenSSL makes; TLS is over it where there is a context.
class Wire {
 public:
  // `idle` is called after each second without bytes, and returns false to end the wait.
  Wire(steady_clock::time_point end, std::function<bool()> idle)
      : end_(end), idle_(std::move(idle)) {}

  absl::Status Open(const HttpCall& call);
  absl::Status Send(absl::string_view text);
  // All until the other side closes, and `take`, if it is not null, wants no more; it may take
  // bytes from the start of what there is.
  absl::StatusOr<std::string> Receive(size_t max_bytes,
                                      const std::function<bool(std::string& received)>& take);

 private:
  absl::Status StartTls(const std::string& host, const std::string& ca_file);
  // Has `step` done, as often as it wants to be. Its last result; -1 when the time is over.
  int Complete(const std::function<int()>& step);

  const steady_clock::time_point end_;
  const std::function<bool()> idle_;
  bool is_late_ = false;
  bool is_ended_ = false;  // by idle_
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unique_ptr<BIO, decltype(&BIO_free_all)> bio_{nullptr, BIO_free_all};
};

int Wire::Complete(const std::function<int()>& step) {
  while (true) {
    const int result = step();
    if (result > 0 || !BIO_should_retry(bio_.get())) return result;
    pollfd wait = {.fd = -1, .events = POLLOUT, .revents = 0};
    if (BIO_should_read(bio_.get())) wait.events = POLLIN;
    BIO_get_fd(bio_.get(), &wait.fd);
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - steady_clock::now());
    is_late_ = left.count() <= 0;
    if (is_late_) return -1;
    if (idle_ != nullptr) left = std::min<std::chrono::milliseconds>(left, kIdle);
    const bool came = poll(&wait, 1, static_cast<int>(left.count())) != 0;
    is_ended_ = !came && idle_ != nullptr && !idle_();
    if (is_ended_) return -1;
  }
}

// Who answers has to have a certificate for `host`, which is a name or an address.
absl::Status Wire::StartTls(const std::string& host, const std::string& ca_file) {
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  const bool has_authority = ca_file.empty()
                                 ? SSL_CTX_set_default_verify_paths(context_.get()) == 1
                                 : SSL_CTX_load_verify_file(context_.get(), ca_file.c_str()) == 1;
  if (!has_authority) return absl::UnauthenticatedError("no authority can be read");
  bio_.reset(BIO_new_ssl_connect(context_.get()));
  SSL* ssl = nullptr;
  BIO_get_ssl(bio_.get(), &ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1) {
    return absl::OkStatus();
  }
  if (SSL_set1_host(ssl, host.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, host.c_str()) != 1) {
    return absl::UnavailableError("no name of a host");
  }
  return absl::OkStatus();
}

absl::Status Wire::Open(const HttpCall& call) {
  absl::string_view address = call.origin;
  const bool is_tls = absl::ConsumePrefix(&address, "https://");
  if (!is_tls) absl::ConsumePrefix(&address, "http://");
  // "[::1]:9090": the last colon is before a port unless the bracket closes after it.
  size_t colon = address.rfind(':');
  if (colon != absl::string_view::npos && address.find(']', colon) != absl::string_view::npos) {
    colon = absl::string_view::npos;
  }
  const absl::string_view port =
      colon == absl::string_view::npos ? (is_tls ? "443" : "80") : address.substr(colon + 1);
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  if (is_tls) {
    const absl::Status started = StartTls(std::string(host), call.ca_file);
    if (!started.ok()) return started;
  } else {
    bio_.reset(BIO_new(BIO_s_connect()));
  }
  BIO_set_conn_hostname(bio_.get(), std::string(host).c_str());
  BIO_set_conn_port(bio_.get(), std::string(port).c_str());
  BIO_set_nbio(bio_.get(), 1);
  ERR_clear_error();
  errno = 0;
  // With TLS the handshake, too.
  if (Complete([&] { return static_cast<int>(BIO_do_connect(bio_.get())); }) > 0) {
    return absl::OkStatus();
  }
  SSL* ssl = nullptr;
  if (is_tls && BIO_get_ssl(bio_.get(), &ssl) == 1 && SSL_get_verify_result(ssl) != X509_V_OK) {
    return absl::UnauthenticatedError("its certificate is not trusted");
  }
  return absl::UnavailableError(is_late_ ? "no connection in time" : "no connection");
}

absl::Status Wire::Send(absl::string_view text) {
  while (!text.empty()) {
    const int sent =
        Complete([&] { return BIO_write(bio_.get(), text.data(), static_cast<int>(text.size())); });
    if (is_late_) return absl::DeadlineExceededError("it does not read");
    if (sent <= 0) return absl::UnavailableError("it closed the connection");
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Wire::Receive(size_t max_bytes,
                                          const std::function<bool(std::string& received)>& take) {
  std::string out;
  std::array<char, size_t{1} << 14> part;
  while (true) {
    const int got =
        Complete([&] { return BIO_read(bio_.get(), part.data(), static_cast<int>(part.size())); });
    if (is_late_ || steady_clock::now() > end_) return absl::DeadlineExceededError("no answer");
    if (got <= 0 || is_ended_) return out;
    out.append(part.data(), static_cast<size_t>(got));
    if (take != nullptr && !take(out)) return out;
    if (out.size() > max_bytes) return absl::OutOfRangeError("the answer is too long");
  }
}

// RFC 9112, section 7.1; absent where the last chunk is missing.
absl::StatusOr<std::string> Unchunked(absl::string_view text) {
  std::string out;
  while (true) {
    const size_t end = text.find("\r\n");
    uint64_t size = 0;
    if (end == absl::string_view::npos ||
        !absl::SimpleHexAtoi(text.substr(0, std::min(end, text.find(';'))), &size) ||
        size > text.size() - end - 2) {
      return absl::DataLossError("a chunk is missing");
    }
    if (size == 0) return out;
    absl::StrAppend(&out, text.substr(end + 2, size));
    text.remove_prefix(end + 2 + size);
    if (!absl::ConsumePrefix(&text, "\r\n")) return absl::DataLossError("a chunk has no end");
  }
}

// The end of the head, and its status; false where there is none.
bool ReadHead(absl::string_view text, size_t* head_size, int* status) {
  *head_size = text.find("\r\n\r\n");
  return *head_size != absl::string_view::npos && absl::StartsWith(text, "HTTP/1.") &&
         absl::SimpleAtoi(text.substr(sizeof("HTTP/1.1"), 3), status);
}

absl::StatusOr<HttpResult> ReadAnswer(absl::string_view text) {
  HttpResult out;
  size_t head_size = 0;
  if (!ReadHead(text, &head_size, &out.status)) {
    return text.empty() ? absl::UnavailableError("it closed the connection")
                        : absl::DataLossError("it does not speak HTTP");
  }
  absl::string_view body = text.substr(head_size + 4);
  for (absl::string_view line : absl::StrSplit(text.substr(0, head_size), "\r\n")) {
    const std::pair<absl::string_view, absl::string_view> header =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(header.second);
    uint64_t size = 0;
    if (absl::EqualsIgnoreCase(header.first, "transfer-encoding") &&
        absl::EqualsIgnoreCase(value, "chunked")) {
      absl::StatusOr<std::string> whole = Unchunked(body);
      if (!whole.ok()) return whole.status();
      out.body = *std::move(whole);
      return out;
    }
    if (absl::EqualsIgnoreCase(header.first, "content-length") &&
        (!absl::SimpleAtoi(value, &size) || size != body.size())) {
      return absl::DataLossError("it is not whole");
    }
  }
  out.body = std::string(body);
  return out;
}

// Hands the lines of a body on, once the head of an answer 200 has come.
class Lines {
 public:
  explicit Lines(const std::function<bool(absl::string_view line)>& on_line) : on_line_(on_line) {}

  bool Take(std::string& received) {
    if (!has_head_) {
      size_t head_size = 0;
      int status = 0;
      has_head_ = ReadHead(received, &head_size, &status) && status == 200;
      if (!has_head_) return true;
      received.erase(0, head_size + 4);
    }
    for (size_t end = 0; (end = received.find('\n')) != std::string::npos;) {
      const std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      if (!line.empty() && !on_line_(line)) return false;
    }
    return true;
  }

  bool has_head() const { return has_head_; }

 private:
  const std::function<bool(absl::string_view line)>& on_line_;
  bool has_head_ = false;
};

// Lines come unframed where the answer is one of HTTP/1.0 (RFC 9112, section 6.1).
std::string TextOf(const HttpCall& call) {
  std::string out = absl::StrCat(
      call.method, " ", call.path, call.on_line ? " HTTP/1.0" : " HTTP/1.1",
      "\r\nHost: ", call.origin.substr(call.origin.find("//") + 2), "\r\nConnection: close\r\n");
  if (!call.body.empty() || call.method == "POST") {
    absl::StrAppend(&out, "Content-Length: ", call.body.size(), "\r\n");
  }
  for (const auto& [name, value] : call.headers) absl::StrAppend(&out, name, ": ", value, "\r\n");
  absl::StrAppend(&out, "\r\n", call.body);
  return out;
}

}  // namespace

absl::StatusOr<HttpResult> CallHttp(const HttpCall& call) {
  std::function<bool()> idle;
  if (call.on_line) idle = [&call] { return call.on_line(""); };
  Wire wire(call.end, std::move(idle));
  absl::Status sent = wire.Open(call);
  if (sent.ok()) sent = wire.Send(TextOf(call));
  if (!sent.ok()) return sent;
  Lines lines(call.on_line);
  std::function<bool(std::string&)> take;
  if (call.on_line) take = [&lines](std::string& received) { return lines.Take(received); };
  const absl::StatusOr<std::string> answer = wire.Receive(call.max_bytes, take);
  if (lines.has_head()) {
    if (!answer.ok() && !absl::IsDeadlineExceeded(answer.status())) return answer.status();
    return HttpResult{.status = 200};
  }
  if (!answer.ok()) return answer.status();
  return ReadAnswer(*answer);
}

}  // namespace sextant::http
