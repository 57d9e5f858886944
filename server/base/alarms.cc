#include "server/base/alarms.h"

#include <utility>

namespace sextant::server {

Alarms::Alarms() : thread_([this] { Work(); }) {}

Alarms::~Alarms() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Alarms::At(Clock::time_point time, std::function<void()> ring) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.emplace(time, std::move(ring));
  }
  changed_.notify_all();
}

void Alarms::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = waiting_.begin();
    if (Clock::now() < first->first) {
      changed_.wait_until(lock, Clock::time_point(first->first));
      continue;
    }
    const std::function<void()> ring = std::move(first->second);
    waiting_.erase(first);
    lock.unlock();
    ring();
    lock.lock();
  }
}

}  // namespace sextant::server
