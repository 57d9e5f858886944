#include "server/probe_worker.h"

#include <utility>

namespace sextant {

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

}  // namespace sextant
