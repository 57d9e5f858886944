#include "server/fleet/http_post.h"

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
#include "engine/base/status_macros.h"

namespace sextant::server {
namespace {

using std::chrono::steady_clock;

// A connection to come, which OpenSSL makes; TLS is over it where there is a context.
class Wire {
 public:
  explicit Wire(steady_clock::time_point end) : end_(end) {}

  absl::Status Open(const HttpPost& post);
  absl::Status Send(absl::string_view text);
  // All until the other side closes.
  absl::StatusOr<std::string> Receive(size_t max_bytes);

 private:
  absl::Status StartTls(const std::string& host, const std::string& ca_file);
  // Has `step` done, as often as it wants to be. Its last result; -1 when the time is over.
  int Complete(const std::function<int()>& step);

  steady_clock::time_point end_;
  bool is_late_ = false;
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
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - steady_clock::now());
    is_late_ = left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) == 0;
    if (is_late_) return -1;
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

absl::Status Wire::Open(const HttpPost& post) {
  absl::string_view address = post.origin;
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
    SEXTANT_RETURN_IF_ERROR(StartTls(std::string(host), post.ca_file));
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

absl::StatusOr<std::string> Wire::Receive(size_t max_bytes) {
  std::string out;
  std::array<char, size_t{1} << 14> part;
  while (true) {
    const int got =
        Complete([&] { return BIO_read(bio_.get(), part.data(), static_cast<int>(part.size())); });
    if (is_late_ || steady_clock::now() > end_) return absl::DeadlineExceededError("no answer");
    if (got <= 0) return out;
    out.append(part.data(), static_cast<size_t>(got));
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

absl::StatusOr<PostAnswer> ReadAnswer(absl::string_view text) {
  PostAnswer out;
  const size_t head_size = text.find("\r\n\r\n");
  if (head_size == absl::string_view::npos || !absl::StartsWith(text, "HTTP/1.") ||
      !absl::SimpleAtoi(text.substr(sizeof("HTTP/1.1"), 3), &out.status)) {
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
      SEXTANT_ASSIGN_OR_RETURN(out.body, Unchunked(body));
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

}  // namespace

absl::StatusOr<PostAnswer> PostHttp(const HttpPost& post) {
  Wire wire(post.end);
  SEXTANT_RETURN_IF_ERROR(wire.Open(post));
  std::string text = absl::StrCat(
      "POST ", post.path, " HTTP/1.1\r\nHost: ", post.origin.substr(post.origin.find("//") + 2),
      "\r\nConnection: close\r\nContent-Length: ", post.body.size(), "\r\n");
  for (const auto& [name, value] : post.headers) absl::StrAppend(&text, name, ": ", value, "\r\n");
  absl::StrAppend(&text, "\r\n", post.body);
  SEXTANT_RETURN_IF_ERROR(wire.Send(text));
  SEXTANT_ASSIGN_OR_RETURN(const std::string answer, wire.Receive(post.max_bytes));
  return ReadAnswer(answer);
}

}  // namespace sextant::server
