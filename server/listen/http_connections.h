// The connections of the HTTP port: a few threads, and no client that keeps them from the others.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_CONNECTIONS_H_
#define SEXTANT_SERVER_LISTEN_HTTP_CONNECTIONS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

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

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_CONNECTIONS_H_
