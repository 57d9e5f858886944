#include "server/listen/http_connections.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "server/listen/http_connection.h"

namespace sextant::server {

HttpConnections::HttpConnections(Limits limits, TlsContext* tls, Answer answer)
    : max_waiting_(limits.waiting), tls_(tls), answer_(std::move(answer)) {
  for (size_t i = 0; i < limits.threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

HttpConnections::~HttpConnections() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    waiting_.clear();
    for (const auto& connection : served_) connection->Interrupt();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HttpConnections::Take(int descriptor) {
  auto connection = std::make_shared<HttpConnection>(
      descriptor, tls_ == nullptr ? HttpConnection::Ssl(nullptr, SSL_free) : tls_->NewConnection());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return;
    waiting_.push_back(std::move(connection));
    if (waiting_.size() > idle_threads_) MakeRoom();
    if (waiting_.size() > idle_threads_ + max_waiting_) waiting_.pop_front();
  }
  changed_.notify_one();
}

void HttpConnections::MakeRoom() {
  std::map<std::string, size_t> of_peer;
  for (const auto& connection : served_) ++of_peer[connection->peer_host()];
  HttpConnection* chosen = nullptr;
  const auto goes_before = [&of_peer](const HttpConnection& a, const HttpConnection& b) {
    const size_t more = of_peer[a.peer_host()];
    const size_t fewer = of_peer[b.peer_host()];
    return more != fewer ? more > fewer : a.since() < b.since();
  };
  for (const auto& connection : served_) {
    if (!connection->blocked() || connection->interrupted()) continue;
    if (chosen == nullptr || goes_before(*connection, *chosen)) chosen = connection.get();
  }
  if (chosen != nullptr) chosen->Interrupt();
}

void HttpConnections::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_threads_;
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    --idle_threads_;
    if (ended_) return;
    // The newest first: room was made for it, and the older ones may be all of one client.
    const std::shared_ptr<HttpConnection> connection = std::move(waiting_.back());
    waiting_.pop_back();
    served_.push_back(connection);
    lock.unlock();
    while (const auto head = connection->AwaitRequest()) {
      if (!answer_(*connection, *head)) break;
    }
    connection->Linger();
    lock.lock();
    served_.erase(std::find(served_.begin(), served_.end(), connection));
  }
}

}  // namespace sextant::server
