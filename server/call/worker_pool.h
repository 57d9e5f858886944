// Threads for calls that would hold gRPC's own few threads for too long.
#ifndef SEXTANT_SERVER_CALL_WORKER_POOL_H_
#define SEXTANT_SERVER_CALL_WORKER_POOL_H_

#include <grpcpp/server_context.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace sextant::server {

struct WorkerPoolOptions {
  int threads = 0;          // 0: one a processor
  size_t max_waiting = 64;  // calls; further ones are refused
};

// Runs tasks on threads of its own. Thread-safe. gRPC answers all services, health included, on a
// few threads of its own: a handler that is busy for long would keep all others waiting.
class WorkerPool {
 public:
  explicit WorkerPool(WorkerPoolOptions options);
  // Waits for all tasks that were posted.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int64_t thread_count() const { return static_cast<int64_t>(threads_.size()); }

  // Calls `task` once: with OK on one of the threads, or at once, here, with kResourceExhausted
  // SERVER_BUSY and the advice to try again, where too many wait.
  void Post(std::function<void(const absl::Status&)> task);

 private:
  void Work();

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void(const absl::Status&)>> tasks_;  // that wait
  bool ended_ = false;                                          // no more tasks come
  std::vector<std::thread> threads_;
};

// Calls `then` once, as WorkerPool::Post() does. Where the call has ended when its turn comes,
// `then` gets EndOf() and computes nothing.
void PostCall(const grpc::CallbackServerContext* context, WorkerPool& workers,
              std::function<void(const absl::Status&)> then);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_WORKER_POOL_H_
