#include "server/call/worker_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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

}  // namespace

std::string HostOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();  // "ipv4:192.0.2.7:40312", "unix:..."
  return peer.substr(0, peer.rfind(':'));
}

absl::Status ServerBusy(absl::string_view why) {
  return WithRetryDelay(WithReason(absl::ResourceExhaustedError(absl::StrCat(
                                       why, ": try again in a second, or ask another replica")),
                                   "SERVER_BUSY"),
                        kRetrySeconds);
}

WorkerPool::WorkerPool(WorkerPoolOptions options) : max_waiting_(options.max_waiting) {
  for (int i = 0; i < ThreadCount(options.threads); ++i) {
    threads_.emplace_back([this, niceness = options.niceness] {
      // Sets this thread's niceness alone, on Linux. A failure changes the order of answers only.
      if (niceness != 0) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness);
      Work();
    });
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

WorkerPool::Task WorkerPool::Add(const std::string& caller, Task task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto line = std::find_if(lines_.begin(), lines_.end(),
                                 [&caller](const Line& each) { return each.caller == caller; });
  const size_t own = line == lines_.end() ? 0 : line->tasks.size();
  Task refused;
  if (waiting_ >= max_waiting_) {
    const auto longest = std::max_element(
        lines_.begin(), lines_.end(),
        [](const Line& a, const Line& b) { return a.tasks.size() < b.tasks.size(); });
    if (longest == lines_.end() || longest->tasks.size() <= own + 1) return task;
    refused = std::move(longest->tasks.back());  // its line keeps one and more
    longest->tasks.pop_back();
    --waiting_;
  }
  ++waiting_;
  if (line == lines_.end()) {
    lines_.push_back({.caller = caller, .tasks = {}});
    lines_.back().tasks.push_back(std::move(task));
  } else {
    line->tasks.push_back(std::move(task));
  }
  return refused;
}

void WorkerPool::Post(const std::string& caller, Task task) {
  const Task refused = Add(caller, std::move(task));
  changed_.notify_one();
  if (refused != nullptr) refused(ServerBusy("too many calls of this kind wait already"));
}

void WorkerPool::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || !lines_.empty(); });
    if (lines_.empty()) return;
    Line line = std::move(lines_.front());
    lines_.pop_front();
    const Task task = std::move(line.tasks.front());
    line.tasks.pop_front();
    --waiting_;
    if (!line.tasks.empty()) lines_.push_back(std::move(line));
    lock.unlock();
    task(absl::OkStatus());
    lock.lock();
  }
}

void PostCall(const grpc::CallbackServerContext* context, WorkerPool& workers,
              std::function<void(const absl::Status&)> then) {
  workers.Post(HostOf(*context), [context, then = std::move(then)](const absl::Status& ready) {
    then(ready.ok() ? EndOf(*context) : ready);
  });
}

}  // namespace sextant::server
