#include "server/listen/http_server.h"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"
#include "engine/base/version.h"
#include "server/listen/http_connections.h"
#include "server/listen/listener.h"

namespace sextant::server {
namespace {

constexpr size_t kThreads = 16;

std::string IndexPage() {
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>sextantd</title>\n"
      "<h1>sextantd ",
      EngineVersion(),
      "</h1>\n<p>Plans large-model training runs. The API is gRPC, package "
      "<code>sextant.v1</code>, on a port of its own, with reflection.</p>\n<ul>\n"
      "<li><a href=\"/metrics\">/metrics</a>: Prometheus metrics</li>\n"
      "<li><a href=\"/healthz\">/healthz</a>: the process answers</li>\n"
      "<li><a href=\"/readyz\">/readyz</a>: it takes calls</li>\n</ul>\n</html>\n");
}

Caller CallerOf(const httplib::Request& request) {
  Caller out;
  out.is_on_this_host =
      absl::StartsWith(request.remote_addr, "127.") || request.remote_addr == "::1";
  const auto sent = request.headers.find("Authorization");
  if (sent != request.headers.end()) out.authorization = sent->second;
  if (request.ssl != nullptr) {
    const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get1_peer_certificate(request.ssl),
                                                             X509_free);
    if (certificate != nullptr) out.certificate_name = NameOfCertificate(certificate.get());
  }
  return out;
}

class HttplibServer final : public HttpServer, private httplib::Server {
 public:
  explicit HttplibServer(HttpOptions options)
      : options_(std::move(options)),
        connections_(kThreads, options_.tls, [this](httplib::Stream& stream, const SSL* ssl) {
          return Answer(stream, ssl);
        }) {
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return Admits(request, response) ? HandlerResponse::Unhandled : HandlerResponse::Handled;
    });
    AddRoutes();
  }

  ~HttplibServer() override {
    if (listener_ != nullptr) listener_->Stop();
  }

  absl::Status Listen() {
    SEXTANT_ASSIGN_OR_RETURN(listener_,
                             Listener::Open({.addresses = {options_.address},
                                             .flag = "--http_listen",
                                             .max_connections = options_.max_connections}));
    listener_->Serve([this](int connection) { connections_.Take(connection); });
    return absl::OkStatus();
  }

  const std::string& address() const override { return listener_->addresses().front(); }

 private:
  // httplib's own loop has no bound on the time that a request takes.
  bool Answer(httplib::Stream& stream, const SSL* ssl) {
    bool closed = false;
    const auto set_ssl = [ssl](httplib::Request& request) { request.ssl = ssl; };
    return process_request(stream, /*close_connection=*/false, closed, set_ssl) && !closed;
  }

  // Answers a caller that may not read the page itself. Health is for load balancers and kubelets,
  // which show nothing.
  bool Admits(const httplib::Request& request, httplib::Response& response) const {
    if (options_.access == nullptr || request.path == "/healthz" || request.path == "/readyz") {
      return true;
    }
    const absl::Status admitted =
        options_.access->Admit(request.path, CallerOf(request), absl::Now()).status();
    if (admitted.ok()) return true;
    const bool unknown = absl::IsUnauthenticated(admitted);
    response.status = unknown ? 401 : 403;
    if (unknown) response.set_header("WWW-Authenticate", "Bearer");
    response.set_content(absl::StrCat(Escaped(admitted.message()), "\n"),
                         "text/plain; charset=utf-8");
    return false;
  }

  void AddRoutes() {
    Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(IndexPage(), "text/html; charset=utf-8");
    });
    Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok\n", "text/plain; charset=utf-8");
    });
    Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
      const bool ready = options_.ready();
      response.status = ready ? 200 : 503;
      response.set_content(ready ? "ready\n" : "not ready\n", "text/plain; charset=utf-8");
    });
    Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(prometheus::TextSerializer().Serialize(Collect()),
                           "text/plain; version=0.0.4; charset=utf-8");
    });
  }

  // A family may come from several: the format has each name once.
  static void Add(prometheus::MetricFamily family, std::vector<prometheus::MetricFamily>& all) {
    for (prometheus::MetricFamily& known : all) {
      if (known.name != family.name) continue;
      std::move(family.metric.begin(), family.metric.end(), std::back_inserter(known.metric));
      return;
    }
    all.push_back(std::move(family));
  }

  std::vector<prometheus::MetricFamily> Collect() const {
    auto all = options_.registry->Collect();
    for (const prometheus::Collectable* collectable : options_.collectables) {
      for (auto& family : collectable->Collect()) Add(std::move(family), all);
    }
    return all;
  }

  const HttpOptions options_;
  std::unique_ptr<Listener> listener_;
  HttpConnections connections_;  // last: its threads use the rest
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options) {
  auto server = std::make_unique<HttplibServer>(std::move(options));
  if (absl::Status listening = server->Listen(); !listening.ok()) return listening;
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace sextant::server
