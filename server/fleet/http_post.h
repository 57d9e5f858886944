// One POST to an HTTP server, over TCP or TLS.
#ifndef SEXTANT_SERVER_FLEET_HTTP_POST_H_
#define SEXTANT_SERVER_FLEET_HTTP_POST_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant::server {

struct HttpPost {
  std::string origin = {};  // "https://prometheus.example:9090"
  std::string path = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::string ca_file = {};  // PEM; empty: the system's
  std::chrono::steady_clock::time_point end = {};
  size_t max_bytes = 0;  // of the answer
};

struct PostAnswer {
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
absl::StatusOr<PostAnswer> PostHttp(const HttpPost& post);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_FLEET_HTTP_POST_H_
