// Keeps the probe off GPUs that somebody uses, or that should not be worked on. docs/gpu_probe.md
// has the rules and their reasons.
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
#include "gpu_probe/clock.h"
#include "gpu_probe/cuda/gpu_reading.h"
#include "gpu_probe/cuda/nvml.h"

namespace sextant {

// The words that a refusal gives as its "reason", beside "locked" of device_lock.h.
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

// What somebody else may have of a GPU that counts as free: what an idle driver, a display or a
// monitor takes.
inline constexpr int64_t kIdleBytes = int64_t{1} << 30;
inline constexpr int64_t kIdlePercent = 5;
// Below this a GPU is as cool as one that idles; above, its clocks may soon be lowered.
inline constexpr int64_t kCoolCelsius = 80;
// The probe's own heat may pass that, but not this, where many products lower their clocks.
inline constexpr int64_t kTooHotCelsius = 90;
// Between two readings: longer than NVML takes to renew its figures on most GPUs.
inline constexpr double kReadingPauseSeconds = 0.15;
// Load is told of the last second at most, so that a probe that has just ended is still seen. Where
// it is the only sign of use, so many more readings wait for it to fade: 1.2 s.
inline constexpr int kFadingReadingCount = 8;

// What the probe itself may take of a GPU: 2 GiB, but no more than a quarter of what is free.
int64_t MemoryCapBytes(int64_t free_bytes);

// How long the guard's questions held the probe: NVML's calls, without the pauses between them.
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
    std::function<void(double seconds)> sleep;  // waits for that long
    Clock* clock = ProcessClock();              // of the cost; outlives the guard
    int64_t own_process_id = OwnProcessId();
  };
  explicit Guard(Parts parts) : parts_(std::move(parts)) {}

  // Asks how the GPU is set up, and reads it until two readings in a row, kReadingPauseSeconds
  // apart, find it idle. Refuses at once where one forbids it, but for load, which may fade. The
  // most bytes that the probe may take. Makes no CUDA context, and does not start CUDA.
  //
  // The list of processes may be empty: memory or load is enough to refuse. This process's own
  // entry never counts.
  //
  // Errors: Refuse()'s, GpuReader's.
  absl::StatusOr<int64_t> Admit();

  // Whether the probe may go on, asked while it measures, when it holds `own_bytes` beside its
  // context. After Admit(). Load says nothing then, being the probe's own, and one process is the
  // probe itself, whatever its number: in a container NVML has the host's.
  //
  // Errors: Refuse()'s, where a tenant has come or the GPU is hot; kDataLoss ("reason" "ecc") where
  // its memory has failed, so that results may be wrong; GpuReader's.
  absl::Status MayGoOn(int64_t own_bytes);

  const GuardCost& cost() const { return cost_; }

 private:
  static Clock* ProcessClock();
  static int64_t OwnProcessId();

  // Entries that are not this process's.
  int64_t OtherCount(const GpuReading& reading) const;
  absl::Status CheckIdle(const GpuReading& reading) const;
  absl::StatusOr<GpuReading> Read();
  void AddCost(double start_seconds);

  const Parts parts_;
  absl::optional<GpuReader> reader_;
  GpuReading admitted_;
  GuardCost cost_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GUARD_H_
