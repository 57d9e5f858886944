// A thread that does something now and then.
#ifndef SEXTANT_SERVER_BASE_PERIODIC_H_
#define SEXTANT_SERVER_BASE_PERIODIC_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sextant::server {

class Periodic {
 public:
  // Calls `task` every `period` until this is destroyed.
  Periodic(std::chrono::milliseconds period, std::function<void()> task);
  ~Periodic();
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_BASE_PERIODIC_H_
