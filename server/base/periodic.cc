#include "server/base/periodic.h"

#include <utility>

namespace sextant::server {

Periodic::Periodic(std::chrono::milliseconds period, std::function<void()> task) {
  thread_ = std::thread([this, period, task = std::move(task)] {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, period, [this] { return ended_; })) {
      lock.unlock();
      task();
      lock.lock();
    }
  });
}

Periodic::~Periodic() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace sextant::server
