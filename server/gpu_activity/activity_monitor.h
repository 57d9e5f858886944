// Watches this host's GPUs for as long as the server runs.
#ifndef SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_MONITOR_H_
#define SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_MONITOR_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/gpu_activity/activity_sampler.h"
#include "server/gpu_activity/gpm_library.h"

namespace sextant {

struct ActivityMonitorOptions {
  std::chrono::milliseconds period{5000};  // at least 100 ms; 0: nothing is watched
  std::function<absl::StatusOr<GpmLibrary>()> load = LoadGpmLibrary;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

// A thread of its own calls NVML, and nothing else does: who asks what was last seen waits for
// nobody, and where NVML hangs, as it does over a GPU that has failed, that thread alone does.
class ActivityMonitor {
 public:
  // Starts the thread. Without NVML, or without a driver, it tries again every twelve periods: a
  // driver may come later.
  explicit ActivityMonitor(ActivityMonitorOptions options);

  // Stops the thread. One that NVML has not given back within a second is left behind: nothing can
  // end it but the end of the process, and all that it may still touch is its own.
  ~ActivityMonitor();
  ActivityMonitor(const ActivityMonitor&) = delete;
  ActivityMonitor& operator=(const ActivityMonitor&) = delete;

  // What was seen last; nothing where that is more than three periods ago. Thread-safe.
  std::vector<GpuActivity> Latest() const;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // the thread's too
  std::thread thread_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_MONITOR_H_
