// A thread that acts while the main one may hang.
#ifndef SEXTANT_GPU_PROBE_WATCHDOG_H_
#define SEXTANT_GPU_PROBE_WATCHDOG_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"

namespace sextant::probe {

// Neither call may throw.
struct WatchdogOptions {
  double seconds = 0;                    // from the start of the watchdog to its expiry
  std::function<void()> on_expiry = {};  // once, unless it was destroyed before
  double tick_seconds = 0;               // between two calls of on_tick
  std::function<void()> on_tick = {};    // until then; may be empty
};

class Watchdog {
 public:
  // Errors: kInternal where the system starts no more threads.
  static absl::StatusOr<std::unique_ptr<Watchdog>> Start(WatchdogOptions options);

  // Waits for a running call.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  explicit Watchdog(WatchdogOptions options);
  void Watch();

  const WatchdogOptions options_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_WATCHDOG_H_
