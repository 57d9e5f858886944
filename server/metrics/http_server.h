// The HTTP port: metrics, health and an index page.
#ifndef SEXTANT_SERVER_METRICS_HTTP_SERVER_H_
#define SEXTANT_SERVER_METRICS_HTTP_SERVER_H_

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant::server {

struct HttpOptions {
  std::string host;  // "127.0.0.1"
  int port = 0;      // 0: any free one
  // Returns true while the server takes calls; called on HTTP threads.
  std::function<bool()> ready;
  // /metrics shows the registry's metrics, then those of `collectables`, which outlive the HTTP
  // server and have other names.
  std::shared_ptr<prometheus::Registry> registry;
  std::vector<const prometheus::Collectable*> collectables = {};
};

// GET /metrics   Prometheus text
// GET /healthz   200 while the process answers
// GET /readyz    200 while it takes calls, else 503
// GET /          an index page
class HttpServer {
 public:
  // Listens and serves on threads of its own until destroyed.
  //
  // Errors: kUnavailable naming the address where it can't be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpOptions options);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_METRICS_HTTP_SERVER_H_
