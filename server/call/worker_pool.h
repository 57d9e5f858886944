// Threads for calls that would hold gRPC's own few threads for too long.
#ifndef SEXTANT_SERVER_CALL_WORKER_POOL_H_
#define SEXTANT_SERVER_CALL_WORKER_POOL_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/call/call_context.h"
#include "server/metrics/metrics.h"

namespace sextant::server {

struct WorkerPoolOptions {
  int threads = 0;          // tasks that run at a time; 0: one a processor
  size_t max_waiting = 64;  // tasks; beyond them some are refused
  // Tasks that have begun, and wait for their next turn. Half of these places are for callers who
  // have none under way, so that one with many long tasks doesn't take all.
  size_t max_paused = 0;
  // After it a task gives way at its next EndTurn().
  std::chrono::nanoseconds turn = std::chrono::milliseconds(20);
  int niceness = 0;  // of the threads, as nice(1) has it: 10 gives way to all others
  std::shared_ptr<WaitMetrics> waits = nullptr;  // of calls; null: none are counted
};

// Runs tasks on threads of its own. Thread-safe. gRPC answers all services, health included, on a
// few threads of its own: a handler that is busy for long would keep all others waiting. Callers
// take turns, so that one with many calls, or with long ones, does not keep the others waiting
// either: a long task calls EndTurn() as it goes.
class WorkerPool {
 public:
  explicit WorkerPool(const WorkerPoolOptions& options);
  // Waits for all tasks that were posted.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Tasks that run at a time.
  int64_t thread_count() const { return running_at_most_; }
  WaitMetrics* waits() const { return waits_.get(); }

  using Task = std::function<void(const absl::Status&)>;

  // Calls `task` once: with OK on one of the threads, or at once, on the thread of some Post(),
  // with kResourceExhausted SERVER_BUSY and the advice to try again. Where too many wait, the last
  // of the caller with the most is refused.
  void Post(const std::string& caller, Task task);

  // The rest concerns the task that this thread runs, and does nothing on other threads. No lock
  // may be held that another task takes.

  // Lets the tasks that wait go first, if the turn has taken its time.
  static void EndTurn();
  // Calls `wait`, which waits for other tasks, while another task may run in place of this one.
  static void OutOfTurn(absl::FunctionRef<void()> wait);
  // "" on other threads.
  static std::string CallerOfTask();

 private:
  using Clock = std::chrono::steady_clock;

  // A task that has begun, and waits to go on.
  struct Paused {
    bool resumed = false;
    std::condition_variable changed;
  };
  // One caller's tasks that wait, each in order of arrival.
  struct Line {
    std::string caller;
    std::deque<Task> tasks;
    std::deque<Paused*> paused;
    bool begins_next = true;  // tasks that begin and those that go on alternate
  };
  // A task that a thread runs.
  struct Running {
    WorkerPool* pool = nullptr;
    std::string caller;
    Task task;
    Clock::time_point end;  // of its turn
  };

  void Work();
  // Adds `task`; returns the one to refuse, if any.
  Task Add(const std::string& caller, Task task);
  Line& LineOf(const std::string& caller);
  bool CanBegin(const Line& line) const;
  bool CanServe(const Line& line) const;
  // Lets tasks run while there is room for them. Under the lock, as all below.
  void Serve();
  void Serve(Line& line);
  // Waits in the line of `running` for its next turn. Its room is free.
  void WaitForTurn(Running& running, std::unique_lock<std::mutex>& lock);

  static thread_local Running* of_this_thread;

  const int64_t running_at_most_;
  const size_t max_waiting_;
  const size_t reserved_;  // threads that a caller's first task alone may take
  const Clock::duration turn_;
  const std::shared_ptr<WaitMetrics> waits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;                   // none is empty; the first is the next to be served
  std::deque<Running> begun_;                // tasks that the next idle threads take
  std::map<std::string, size_t> under_way_;  // tasks that have begun, by caller
  size_t waiting_ = 0;                       // tasks in all lines
  int64_t room_ = 0;                         // tasks that may run in addition
  size_t idle_ = 0;                          // threads without a task
  bool ended_ = false;                       // no more tasks come
  std::vector<std::thread> threads_;
};

// Calls `part` with each number below `count`, on this thread and on those of `workers` that are
// free, for the caller whose task this thread runs. Returns when all of these calls have ended;
// waits for no thread that has not begun: a full pool makes it slower, never stuck.
void SideBySide(WorkerPool& workers, int64_t count, absl::FunctionRef<void(int64_t)> part);

// The address of the host that calls, without its port.
std::string HostOf(const CallContext& context);

// Whose turn a call from `host` is: an IPv6 address counts by its first 64 bits, since one host may
// have all addresses that differ in the others.
std::string TurnOfHost(const std::string& host);

// kResourceExhausted SERVER_BUSY with the advice to try again in a second; `why` is the sentence's
// start.
absl::Status ServerBusy(absl::string_view why);

// EndOf() of the call, which this thread works for, after WorkerPool::EndTurn().
absl::Status EndAfterTurn(const CallContext& context);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_WORKER_POOL_H_
