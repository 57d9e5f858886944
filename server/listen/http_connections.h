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

namespace httplib {
class Stream;
}  // namespace httplib

namespace sextant::server {

class HttpConnection;

// A connection holds a thread while it lasts. httplib's own pool bounds the wait for each byte, so
// that a client which sends one now and then holds its thread for as long as it likes. Here a
// request has a deadline and a limit of bytes, and where all threads are held a newcomer ends the
// connection that has kept its thread waiting the longest, of the client that has the most.
class HttpConnections {
 public:
  // Reads one request from the stream and answers it; false: the connection ends. `ssl` is null
  // where the stream is plain text. Called on many threads.
  using Answer = std::function<bool(httplib::Stream& stream, const SSL* ssl)>;

  // `tls`: null for plain text; outlives the connections.
  HttpConnections(size_t threads, TlsContext* tls, Answer answer);
  // Ends all connections.
  ~HttpConnections();
  HttpConnections(const HttpConnections&) = delete;
  HttpConnections& operator=(const HttpConnections&) = delete;

  // Serves `descriptor`, which does not block, to its end, and closes it.
  void Take(int descriptor);

 private:
  void Work();
  void MakeRoom();

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
