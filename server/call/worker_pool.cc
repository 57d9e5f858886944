#include "server/call/worker_pool.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/reason.h"
#include "server/call/call_context.h"
#include "server/call/status.h"

namespace sextant::server {
namespace {

// Most calls on the pool take a fraction of a second; questions of size a few.
constexpr double kRetrySeconds = 1;

int ThreadCount(int asked) {
  if (asked > 0) return asked;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// The parts of SideBySide(), taken one by one by the threads that work on them.
class Parts {
 public:
  Parts(int64_t count, absl::FunctionRef<void(int64_t)> part) : count_(count), part_(part) {}

  // Works until no part is left. Once all are taken, touches nothing but this.
  void Work() {
    for (int64_t index = Take(); index < count_; index = Take()) {
      part_(index);
      const std::lock_guard lock(mutex_);
      if (--working_ == 0) done_.notify_all();
    }
  }

  // Waits for the parts that others have taken.
  void Wait() {
    if (!IsAtWork()) return;
    WorkerPool::OutOfTurn([this] {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [this] { return working_ == 0; });
    });
  }

 private:
  int64_t Take() {
    const std::lock_guard lock(mutex_);
    if (next_ >= count_) return count_;
    ++working_;
    return next_++;
  }

  bool IsAtWork() {
    const std::lock_guard lock(mutex_);
    return working_ > 0;
  }

  const int64_t count_;
  const absl::FunctionRef<void(int64_t)> part_;
  std::mutex mutex_;
  std::condition_variable done_;
  int64_t next_ = 0;
  int64_t working_ = 0;
};

}  // namespace

void SideBySide(WorkerPool& workers, int64_t count, absl::FunctionRef<void(int64_t)> part) {
  const auto parts = std::make_shared<Parts>(count, part);
  for (int64_t i = 1; i < std::min(count, workers.thread_count()); ++i) {
    workers.Post(WorkerPool::CallerOfTask(), [parts](const absl::Status& status) {
      if (status.ok()) parts->Work();
    });
  }
  parts->Work();
  parts->Wait();
}

std::string HostOf(const CallContext& context) {
  const std::string peer = context.peer();  // "ipv4:192.0.2.7:40312", "unix:..."
  return peer.substr(0, peer.rfind(':'));
}

std::string TurnOfHost(const std::string& host) {
  absl::string_view address = host;
  if (!absl::ConsumePrefix(&address, "ipv6:")) return host;
  if (!absl::ConsumePrefix(&address, "%5B")) absl::ConsumePrefix(&address, "[");
  if (!absl::ConsumeSuffix(&address, "%5D")) absl::ConsumeSuffix(&address, "]");
  in6_addr bits;
  if (inet_pton(AF_INET6, std::string(address).c_str(), &bits) != 1) return host;
  if (IN6_IS_ADDR_V4MAPPED(&bits)) return host;
  return absl::StrCat("ipv6:", absl::BytesToHexString(absl::string_view(
                                   reinterpret_cast<const char*>(bits.s6_addr), 8)));
}

absl::Status ServerBusy(absl::string_view why) {
  return WithRetryDelay(WithReason(absl::ResourceExhaustedError(absl::StrCat(
                                       why, ": try again in a second, or ask another replica")),
                                   "SERVER_BUSY"),
                        kRetrySeconds);
}

thread_local WorkerPool::Running* WorkerPool::of_this_thread = nullptr;

WorkerPool::WorkerPool(const WorkerPoolOptions& options)
    : running_at_most_(ThreadCount(options.threads)),
      max_waiting_(options.max_waiting),
      reserved_(options.max_paused / 2),
      turn_(options.turn),
      waits_(options.waits),
      room_(running_at_most_) {
  idle_ = static_cast<size_t>(running_at_most_) + options.max_paused;
  for (size_t i = 0, count = idle_; i < count; ++i) {
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

WorkerPool::Line& WorkerPool::LineOf(const std::string& caller) {
  const auto line = std::find_if(lines_.begin(), lines_.end(),
                                 [&caller](const Line& each) { return each.caller == caller; });
  if (line != lines_.end()) return *line;
  lines_.emplace_back();
  lines_.back().caller = caller;
  return lines_.back();
}

WorkerPool::Task WorkerPool::Add(const std::string& caller, Task task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Task refused;
  if (waiting_ >= max_waiting_) {
    const auto own = std::find_if(lines_.begin(), lines_.end(),
                                  [&caller](const Line& each) { return each.caller == caller; });
    const auto longest = std::max_element(
        lines_.begin(), lines_.end(),
        [](const Line& a, const Line& b) { return a.tasks.size() < b.tasks.size(); });
    const size_t of_own = own == lines_.end() ? 0 : own->tasks.size();
    if (longest == lines_.end() || longest->tasks.size() <= of_own + 1) return task;
    refused = std::move(longest->tasks.back());  // its line keeps one and more
    longest->tasks.pop_back();
    --waiting_;
  }
  ++waiting_;
  LineOf(caller).tasks.push_back(std::move(task));
  Serve();
  return refused;
}

void WorkerPool::Post(const std::string& caller, Task task) {
  const Task refused = Add(caller, std::move(task));
  if (refused != nullptr) refused(ServerBusy("too many calls of this kind wait already"));
}

bool WorkerPool::CanBegin(const Line& line) const {
  return !line.tasks.empty() && idle_ > (under_way_.count(line.caller) > 0 ? reserved_ : 0);
}

bool WorkerPool::CanServe(const Line& line) const { return !line.paused.empty() || CanBegin(line); }

void WorkerPool::Serve(Line& line) {
  --room_;
  const bool begins = CanBegin(line) && (line.begins_next || line.paused.empty());
  line.begins_next = !begins;
  if (!begins) {
    Paused& next = *line.paused.front();
    line.paused.pop_front();
    next.resumed = true;
    next.changed.notify_one();
    return;
  }
  begun_.push_back(
      {.pool = this, .caller = line.caller, .task = std::move(line.tasks.front()), .end = {}});
  line.tasks.pop_front();
  --waiting_;
  --idle_;
  ++under_way_[line.caller];
  changed_.notify_one();
}

void WorkerPool::Serve() {
  while (room_ > 0) {
    const auto next = std::find_if(lines_.begin(), lines_.end(),
                                   [this](const Line& line) { return CanServe(line); });
    if (next == lines_.end()) return;
    Line line = std::move(*next);
    lines_.erase(next);
    Serve(line);
    if (!line.tasks.empty() || !line.paused.empty()) lines_.push_back(std::move(line));
  }
}

void WorkerPool::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !begun_.empty() || (ended_ && lines_.empty()); });
    if (begun_.empty()) {
      --idle_;
      return;
    }
    Running running = std::move(begun_.front());
    begun_.pop_front();
    running.end = Clock::now() + turn_;
    lock.unlock();
    of_this_thread = &running;
    running.task(absl::OkStatus());
    running.task = nullptr;  // what it holds goes outside of the lock
    of_this_thread = nullptr;
    lock.lock();
    ++room_;
    ++idle_;
    if (const auto own = under_way_.find(running.caller); --own->second == 0) under_way_.erase(own);
    Serve();
    if (ended_) changed_.notify_all();
  }
}

void WorkerPool::WaitForTurn(Running& running, std::unique_lock<std::mutex>& lock) {
  Paused paused;
  LineOf(running.caller).paused.push_back(&paused);
  Serve();
  paused.changed.wait(lock, [&paused] { return paused.resumed; });
  running.end = Clock::now() + turn_;
}

void WorkerPool::EndTurn() {
  Running* const running = of_this_thread;
  if (running == nullptr || Clock::now() < running->end) return;
  WorkerPool& pool = *running->pool;
  std::unique_lock<std::mutex> lock(pool.mutex_);
  const bool others_wait = std::any_of(pool.lines_.begin(), pool.lines_.end(),
                                       [&pool](const Line& line) { return pool.CanServe(line); });
  if (!others_wait) {
    running->end = Clock::now() + pool.turn_;
    return;
  }
  ++pool.room_;
  pool.WaitForTurn(*running, lock);
}

void WorkerPool::OutOfTurn(absl::FunctionRef<void()> wait) {
  Running* const running = of_this_thread;
  if (running == nullptr) return wait();
  WorkerPool& pool = *running->pool;
  std::unique_lock<std::mutex> lock(pool.mutex_);
  ++pool.room_;
  pool.Serve();
  lock.unlock();
  wait();
  lock.lock();
  pool.WaitForTurn(*running, lock);
}

std::string WorkerPool::CallerOfTask() {
  return of_this_thread == nullptr ? "" : of_this_thread->caller;
}

absl::Status EndAfterTurn(const CallContext& context) {
  WorkerPool::EndTurn();
  return EndOf(context);
}

}  // namespace sextant::server
