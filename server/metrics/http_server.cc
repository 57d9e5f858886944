#include "server/metrics/http_server.h"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/version.h"

namespace sextant::server {
namespace {

// A connection holds a thread, and a client that sends a byte at a time holds it for as long as it
// likes. With 64 threads, 56 such clients do not slow /metrics down.
constexpr size_t kThreads = 64;
constexpr time_t kTimeoutSeconds = 1;
constexpr size_t kKeepAliveRequests = 100;
constexpr size_t kMaxBodyBytes = 1 << 20;

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

void Configure(httplib::Server& server) {
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  server.set_keep_alive_timeout(kTimeoutSeconds);
  server.set_keep_alive_max_count(kKeepAliveRequests);
  server.set_payload_max_length(kMaxBodyBytes);
  // SO_REUSEADDR alone, to rebind soon after a restart: the library's default would silently share
  // the port with another server.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  // Without it a kept-alive answer waits 40 ms and more for a delayed acknowledgement.
  server.set_tcp_nodelay(true);
}

class HttplibServer final : public HttpServer {
 public:
  explicit HttplibServer(HttpOptions options) : options_(std::move(options)) {
    Configure(server_);
    AddRoutes();
  }

  ~HttplibServer() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen() {
    port_ = options_.port == 0
                ? server_.bind_to_any_port(options_.host.c_str())
                : (server_.bind_to_port(options_.host.c_str(), options_.port) ? options_.port : -1);
    if (port_ <= 0) {
      return absl::UnavailableError(absl::StrCat("can't listen on http ", options_.host, ":",
                                                 options_.port,
                                                 ": is the port taken? (--http_listen)"));
    }
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // A stop() before the loop runs would be lost.
    while (!server_.is_running()) std::this_thread::yield();
    return absl::OkStatus();
  }

  int port() const override { return port_; }

 private:
  void AddRoutes() {
    server_.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(IndexPage(), "text/html; charset=utf-8");
    });
    server_.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok\n", "text/plain; charset=utf-8");
    });
    server_.Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
      const bool ready = options_.ready();
      response.status = ready ? 200 : 503;
      response.set_content(ready ? "ready\n" : "draining\n", "text/plain; charset=utf-8");
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(prometheus::TextSerializer().Serialize(Collect()),
                           "text/plain; version=0.0.4; charset=utf-8");
    });
  }

  std::vector<prometheus::MetricFamily> Collect() const {
    auto all = options_.registry->Collect();
    for (const prometheus::Collectable* collectable : options_.collectables) {
      for (auto& family : collectable->Collect()) all.push_back(std::move(family));
    }
    return all;
  }

  HttpOptions options_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options) {
  auto server = std::make_unique<HttplibServer>(std::move(options));
  if (absl::Status listening = server->Listen(); !listening.ok()) return listening;
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace sextant::server
