// A thread that calls functions at times.
#ifndef SEXTANT_SERVER_BASE_ALARMS_H_
#define SEXTANT_SERVER_BASE_ALARMS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace sextant::server {

// Thread-safe.
class Alarms {
 public:
  using Clock = std::chrono::steady_clock;

  Alarms();
  // Calls nothing more: what is left is forgotten.
  ~Alarms();
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  // Calls `ring`, which is short, once at `time` or soon after it.
  void At(Clock::time_point time, std::function<void()> ring);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, std::function<void()>> waiting_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_BASE_ALARMS_H_
