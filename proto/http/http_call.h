// One request to an HTTP server, over TCP or TLS.
#ifndef SEXTANT_PROTO_HTTP_HTTP_CALL_H_
#define SEXTANT_PROTO_HTTP_HTTP_CALL_H_

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::http {

struct HttpCall {
  std::string method = "POST";
  std::string origin = {};  // "https://prometheus.example:9090"
  std::string path = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::string ca_file = {};  // PEM; empty: the system's
  std::chrono::steady_clock::time_point end = {};
  size_t max_bytes = 0;  // of the answer, or of one of its lines
  // Takes the body of an answer 200 line by line, as it comes, and "" after each second without;
  // false: it wants no more. Empty: the answer has the body.
  std::function<bool(absl::string_view line)> on_line = {};
};

struct HttpResult {
  int status = 0;
  std::string body = {};
};

// Sends it on a connection of its own and reads the answer, all before `end` but for the lookup of
// the host's name. Follows no redirection.
//
// Errors: kUnavailable where there is no connection; kUnauthenticated where the server's
// certificate is not signed by whom `ca_file` says, or not for this host; kDeadlineExceeded once
// connected; kOutOfRange for an answer over `max_bytes`; kDataLoss for one that is not HTTP, or not
// whole.
absl::StatusOr<HttpResult> CallHttp(const HttpCall& call);

}  // namespace sextant::http

#endif  // SEXTANT_PROTO_HTTP_HTTP_CALL_H_
