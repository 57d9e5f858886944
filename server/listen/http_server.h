// The HTTP port: metrics, health, and the API for clients that speak no gRPC.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_SERVER_H_
#define SEXTANT_SERVER_LISTEN_HTTP_SERVER_H_

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/listen/http_exchange.h"
#include "server/security/access.h"
#include "server/security/tls_files.h"

namespace sextant::server {

class HttpConnection;
struct HttpHead;

// A connection holds a thread while it lasts. Each wait for its client has an end, and where all
// threads are held a newcomer ends the connection that has kept its thread waiting the longest, of
// the client that has the most. One whose thread computes is left alone.
class HttpConnections {
 public:
  // Answers the request of that head, which may be refused; false: the connection ends. Called on
  // many threads.
  using Answer = std::function<bool(HttpConnection& connection, const HttpHead& head)>;

  struct Limits {
    size_t threads = 0;
    size_t waiting = 0;  // connections that wait for a thread; the oldest beyond them are closed
  };

  // `tls`: null for plain text; outlives the connections.
  HttpConnections(Limits limits, TlsContext* tls, Answer answer);
  // Ends all connections.
  ~HttpConnections();
  HttpConnections(const HttpConnections&) = delete;
  HttpConnections& operator=(const HttpConnections&) = delete;

  // Serves `descriptor`, which does not block, to its end, and closes it.
  void Take(int descriptor);

 private:
  void Work();
  void MakeRoom();

  const size_t max_waiting_;
  TlsContext* const tls_;
  const Answer answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  size_t idle_threads_ = 0;
  std::deque<std::shared_ptr<HttpConnection>> waiting_;
  std::vector<std::shared_ptr<HttpConnection>> served_;
  std::vector<std::thread> threads_;
};

struct HttpOptions {
  std::string address;         // "127.0.0.1:9464"; port 0: any free one
  size_t max_connections = 0;  // open ones at a time; a further one is closed at once
  // Returns true while the server takes calls; called on HTTP threads.
  std::function<bool()> ready;
  // /metrics shows the registry's metrics, then those of `collectables`, which outlive the HTTP
  // server. Metrics of one name have other labels.
  std::shared_ptr<prometheus::Registry> registry;
  std::vector<const prometheus::Collectable*> collectables = {};
  TlsContext* tls = nullptr;            // null: plain text
  const Access* access = nullptr;       // null: everyone may read every page
  std::vector<std::string> hosts = {};  // names that callers know the server by
  // Answers a GET or POST of any other path; false where no method has the path. Called on
  // HTTP threads, fewer at a time than there are; judges the caller by `access` itself. Empty: no
  // path is.
  std::function<bool(HttpExchange& exchange)> api = {};
};

// GET /metrics        Prometheus text
// GET /healthz        200 while the process answers; open to all, as is all but /metrics
// GET /readyz         200 while it takes calls, else 503
// GET /version        JSON
// GET /openapi.json   the API's description
// GET /               an index page
//
// HEAD and OPTIONS are answered, every other method gets 405. Requests that are refused get an
// error of the Connect protocol.
class HttpServer {
 public:
  // Listens and serves on threads of its own until destroyed.
  //
  // Errors: kUnavailable naming the address where it can't be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpOptions options);
  virtual ~HttpServer() = default;

  // As clients write it, with the port.
  virtual const std::string& address() const = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_SERVER_H_
