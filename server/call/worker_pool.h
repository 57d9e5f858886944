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
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

struct WorkerPoolOptions {
  int threads = 0;          // 0: one a processor
  size_t max_waiting = 64;  // tasks; beyond them some are refused
  int niceness = 0;         // of the threads, as nice(1) has it: 10 gives way to all others
};

// Runs tasks on threads of its own. Thread-safe. gRPC answers all services, health included, on a
// few threads of its own: a handler that is busy for long would keep all others waiting. Callers
// take turns, so that one with many calls does not keep the others waiting either.
class WorkerPool {
 public:
  explicit WorkerPool(WorkerPoolOptions options);
  // Waits for all tasks that were posted.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int64_t thread_count() const { return static_cast<int64_t>(threads_.size()); }

  using Task = std::function<void(const absl::Status&)>;

  // Calls `task` once: with OK on one of the threads, or at once, on the thread of some Post(),
  // with kResourceExhausted SERVER_BUSY and the advice to try again. Where too many wait, the last
  // of the caller with the most is refused.
  void Post(const std::string& caller, Task task);

 private:
  // The waiting tasks of one caller, in order of arrival.
  struct Line {
    std::string caller;
    std::deque<Task> tasks;
  };

  void Work();
  // Adds `task`; returns the one to refuse, if any.
  Task Add(const std::string& caller, Task task);

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;  // none is empty; the first is the next to be served
  size_t waiting_ = 0;      // tasks in all lines
  bool ended_ = false;      // no more tasks come
  std::vector<std::thread> threads_;
};

// The address of the host that calls, without its port: callers take turns by it.
std::string HostOf(const grpc::CallbackServerContext& context);

// kResourceExhausted SERVER_BUSY with the advice to try again in a second; `why` is the sentence's
// start.
absl::Status ServerBusy(absl::string_view why);

// Calls `then` once, as WorkerPool::Post() does for the host that calls. Where the call has ended
// when its turn comes, `then` gets EndOf() and computes nothing.
void PostCall(const grpc::CallbackServerContext* context, WorkerPool& workers,
              std::function<void(const absl::Status&)> then);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_WORKER_POOL_H_
