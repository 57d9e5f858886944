#include "server/probe/probe_schedule.h"

#include <algorithm>
#include <utility>

#include "engine/base/reason.h"
#include "server/call/status.h"

namespace sextant::server {
namespace {

// Time for loading libraries, filling buffers and, on a busy host, waiting for processors.
constexpr double kSlackSeconds = 10;
constexpr double kShapesSeconds = 120;

double ModeSeconds(v1::ProbeMode mode) {
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      return 2;
    case v1::PROBE_MODE_FULL:
      return 30;
    default:
      return 5;
  }
}

}  // namespace

ProbeBudget ProbeBudgetOf(v1::ProbeMode mode, bool with_shapes) {
  const double budget_seconds = ModeSeconds(mode) + (with_shapes ? kShapesSeconds : 0);
  return {.budget_seconds = budget_seconds,
          .deadline_seconds = 2 * budget_seconds + kSlackSeconds,
          .silence_seconds = budget_seconds + kSlackSeconds};
}

double ProbeRetrySeconds(double budget_seconds, double elapsed_seconds, double jitter) {
  return std::max(1.0, budget_seconds - elapsed_seconds) * (1 + jitter / 4);
}

absl::Status ProbeSlot::Take(double budget_seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (taken_) {
    const double elapsed_seconds = std::chrono::duration<double>(now - start_).count();
    const double jitter = std::uniform_real_distribution<double>(0, 1)(random_);
    return WithRetryDelay(
        WithReason(absl::AbortedError("another probe runs on this host: try again when it is done"),
                   "PROBE_RUNNING"),
        ProbeRetrySeconds(budget_seconds_, elapsed_seconds, jitter));
  }
  taken_ = true;
  budget_seconds_ = budget_seconds;
  start_ = now;
  return absl::OkStatus();
}

void ProbeSlot::Release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  taken_ = false;
}

ProbeWorker::ProbeWorker() : thread_([this] { Work(); }) {}

ProbeWorker::~ProbeWorker() {
  Stop();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProbeWorker::Post(std::shared_ptr<Cancellation> cancellation, std::function<void()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_) cancellation->Cancel();
    tasks_.push_back({std::move(cancellation), std::move(task)});
  }
  changed_.notify_one();
}

void ProbeWorker::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  if (running_ != nullptr) running_->Cancel();
  for (const Task& task : tasks_) task.cancellation->Cancel();
}

void ProbeWorker::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    running_ = task.cancellation;
    lock.unlock();
    task.run();
    lock.lock();
    running_ = nullptr;
  }
}

}  // namespace sextant::server
