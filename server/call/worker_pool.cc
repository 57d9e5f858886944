#include "server/call/worker_pool.h"

#include <algorithm>
#include <utility>

#include "engine/base/reason.h"
#include "server/call/call_end.h"
#include "server/call/status.h"

namespace sextant::server {
namespace {

// Most calls on the pool take a fraction of a second; questions of size a few.
constexpr double kRetrySeconds = 1;

int ThreadCount(int asked) {
  if (asked > 0) return asked;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

absl::Status Busy() {
  return WithRetryDelay(
      WithReason(absl::ResourceExhaustedError(
                     "too many calls of this kind wait already: try again in a second, or ask "
                     "another replica"),
                 "SERVER_BUSY"),
      kRetrySeconds);
}

}  // namespace

WorkerPool::WorkerPool(WorkerPoolOptions options) : max_waiting_(options.max_waiting) {
  for (int i = 0; i < ThreadCount(options.threads); ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Post(std::function<void(const absl::Status&)> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (tasks_.size() < max_waiting_) {
      tasks_.push_back(std::move(task));
      task = nullptr;
    }
  }
  if (task != nullptr) {
    task(Busy());
  } else {
    changed_.notify_one();
  }
}

void WorkerPool::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task(absl::OkStatus());
    lock.lock();
  }
}

void PostCall(const grpc::CallbackServerContext* context, WorkerPool& workers,
              std::function<void(const absl::Status&)> then) {
  workers.Post([context, then = std::move(then)](const absl::Status& ready) {
    then(ready.ok() ? EndOf(*context) : ready);
  });
}

}  // namespace sextant::server
