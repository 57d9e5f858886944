// Threads for calls that take longer than gRPC's own few threads may be held.
#ifndef SEXTANT_SERVER_WORKER_POOL_H_
#define SEXTANT_SERVER_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace sextant {

struct WorkerPoolOptions {
  int threads = 0;          // 0: one a processor
  size_t max_waiting = 64;  // calls; further ones are refused
};

// Thread-safe. gRPC answers all services, health too, on a few threads of its own: one that is
// busy for long would keep the others waiting.
class WorkerPool {
 public:
  explicit WorkerPool(WorkerPoolOptions options);
  // Waits for all that was posted.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

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

}  // namespace sextant

#endif  // SEXTANT_SERVER_WORKER_POOL_H_
