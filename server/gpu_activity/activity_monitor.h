// Watches this host's GPUs while the server runs: how busy each was between two samples, now and as
// Prometheus metrics.
#ifndef SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_MONITOR_H_
#define SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_MONITOR_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "server/gpu_activity/gpm_library.h"
#include "server/store/calibration_store.h"

namespace sextant::server {

// One GPU's averages between two samples, 0 to 1, and its memory in use. A value that the GPU did
// not report is absent, never zero.
struct GpuActivity {
  std::string uuid;
  absl::optional<double> tensor = {};        // share of time in which matrix units worked
  absl::optional<double> memory = {};        // share of the memory's highest bandwidth
  absl::optional<double> sm = {};            // share of multiprocessors that were busy
  absl::optional<int64_t> taken_bytes = {};  // of its memory, by processes, now
};

// Samples GPUs. Not thread-safe. Any call may block for as long as NVML does.
class ActivitySampler {
 public:
  // `library` has every function and has been initialised.
  explicit ActivitySampler(const GpmLibrary& library) : library_(library) {}
  ~ActivitySampler();
  ActivitySampler(const ActivitySampler&) = delete;
  ActivitySampler& operator=(const ActivitySampler&) = delete;

  // Returns each GPU's activity since the last call, more than 100 ms ago (NVML's condition), and
  // its memory in use. Averages are left out where it is new since then, is older than Hopper, or
  // fails; all of it where it is cut into instances (MIG).
  std::vector<GpuActivity> Look();

 private:
  // Takes a sample, in memory that NVML allocates; null where it can't.
  gpm::Sample TakeSample(gpm::Gpu gpu) const;
  absl::optional<int64_t> TakenBytes(gpm::Gpu gpu) const;
  void AddAverages(gpm::Sample earlier, gpm::Sample later, GpuActivity& out) const;

  const GpmLibrary library_;
  std::map<std::string, gpm::Sample> last_;  // by UUID
};

struct ActivityMonitorOptions {
  std::chrono::milliseconds period{5000};  // at least 100 ms; 0: nothing is watched
  std::function<absl::StatusOr<GpmLibrary>()> load = LoadGpmLibrary;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

// Calls NVML on a thread of its own, and nowhere else: Latest() never blocks, and where NVML hangs,
// as it does over a failed GPU, only that thread hangs.
class ActivityMonitor {
 public:
  // Starts the thread. Without NVML, or without a driver, it tries again every twelve periods: a
  // driver may be installed later.
  explicit ActivityMonitor(ActivityMonitorOptions options);

  // Stops the thread. One that is still inside NVML after a second is abandoned: only the end of
  // the process can end it, and it touches nothing but its own state.
  ~ActivityMonitor();
  ActivityMonitor(const ActivityMonitor&) = delete;
  ActivityMonitor& operator=(const ActivityMonitor&) = delete;

  // Returns the last activity; empty where it is more than three periods old. Thread-safe.
  std::vector<GpuActivity> Latest() const;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // the thread's too
  std::thread thread_;
};

// The activity as metrics, for the store's devices alone, so that labels match those of all other
// series.
class ActivityMetrics final : public prometheus::Collectable {
 public:
  using Latest = std::function<std::vector<GpuActivity>()>;

  // `store`, and what `latest` reads, outlive it.
  ActivityMetrics(const CalibrationStore& store, Latest latest);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const CalibrationStore& store_;
  const Latest latest_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_MONITOR_H_
