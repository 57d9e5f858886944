// Keeps the probe off GPUs that others use, or that should not be loaded. docs/gpu_probe.md has the
// rules and their reasons.
#ifndef SEXTANT_GPU_PROBE_CUDA_GUARD_H_
#define SEXTANT_GPU_PROBE_CUDA_GUARD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_reading.h"
#include "gpu_probe/cuda/nvml.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// The words for a refusal's "reason", in addition to "locked" of device_lock.h.
inline constexpr char kBusy[] = "busy";
inline constexpr char kTooLittleMemory[] = "memory";
inline constexpr char kMig[] = "mig";
inline constexpr char kMps[] = "mps";
inline constexpr char kHot[] = "hot";
inline constexpr char kEcc[] = "ecc";
inline constexpr char kMode[] = "mode";
inline constexpr char kUnreadable[] = "unreadable";

// kAborted, or kResourceExhausted for "memory", with the metadata "reason" = `reason`.
absl::Status Refuse(absl::string_view reason, absl::string_view sentence);

// The most that others may use of a GPU that counts as idle: the usage of an idle driver, a display
// or a monitor.
inline constexpr int64_t kIdleBytes = int64_t{1} << 30;
inline constexpr int64_t kIdlePercent = 5;
// Below this a GPU is as cool as an idle one; above it, its clocks may soon be lowered.
inline constexpr int64_t kCoolCelsius = 80;
// The probe's own heat may exceed that limit, but not this one, where many products lower their
// clocks.
inline constexpr int64_t kTooHotCelsius = 90;
// Between two readings: longer than NVML's update period on most GPUs.
inline constexpr double kReadingPauseSeconds = 0.15;
// NVML's utilization covers at most the last second, so that a probe that has just ended is still
// seen. Where it is the only sign of use, this many more readings wait for it to fade: 1.2 s.
inline constexpr int kFadingReadingCount = 8;

// The most bytes that the probe itself may take: 2 GiB, but at most a quarter of the free memory.
int64_t MemoryCapBytes(int64_t free_bytes);

// How long the guard's queries delayed the probe: NVML's calls, without the pauses between them.
struct GuardCost {
  int64_t reading_count = 0;
  double total_seconds = 0;
  double longest_seconds = 0;
};

class Guard {
 public:
  struct Parts {
    Nvml nvml;
    std::string uuid;
    std::string mps_sign = {};                  // that of CudaEnvironment
    std::function<void(double seconds)> sleep;  // waits for `seconds`
    Clock* clock = ProcessClock();              // measures the cost; outlives the guard
    int64_t own_process_id = OwnProcessId();
  };
  explicit Guard(Parts parts) : parts_(std::move(parts)) {}

  // Checks the GPU's settings, and reads it until two readings in a row, kReadingPauseSeconds
  // apart, find it idle. Refuses at once where a reading forbids it, except for load, which may
  // fade. Returns the most bytes that the probe may take. Makes no CUDA context, and does not start
  // CUDA.
  //
  // The list of processes may be empty: memory or load alone is reason to refuse. This process's
  // own entry never counts.
  //
  // Errors: Refuse()'s, GpuReader's.
  absl::StatusOr<int64_t> Admit();

  // Checks, during the measurement, that the probe may continue. `own_bytes` are its allocations in
  // addition to its context. Call it after Admit(). Load is ignored, being the probe's own, and one
  // process is taken to be the probe itself, whatever its number: in a container NVML reports the
  // host's number.
  //
  // Errors: Refuse()'s, where a tenant has come or the GPU is hot; kDataLoss ("reason" "ecc") where
  // its memory has failed, so that results may be wrong; GpuReader's.
  absl::Status MayGoOn(int64_t own_bytes);

  const GuardCost& cost() const { return cost_; }

 private:
  static Clock* ProcessClock();
  static int64_t OwnProcessId();

  // Entries of other processes.
  int64_t OtherCount(const GpuReading& reading) const;
  absl::Status CheckIdle(const GpuReading& reading) const;
  absl::StatusOr<GpuReading> Read();
  void AddCost(double start_seconds);

  const Parts parts_;
  absl::optional<GpuReader> reader_;
  GpuReading admitted_;
  GuardCost cost_;
};

// The permission to measure a GPU now.
struct Admission {
  Guard guard;
  int64_t memory_cap_bytes = 0;
};

// Asks the guard about the GPU named `uuid`. Uses NVML alone: a refused GPU is not touched by CUDA.
// `sleep` waits for that many seconds.
//
// Errors: Guard::Admit()'s, and Refuse() "unreadable" without NVML.
absl::StatusOr<Admission> AdmitGpu(const CudaSystem& system, const std::string& uuid,
                                   const std::function<void(double seconds)>& sleep);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_GUARD_H_
