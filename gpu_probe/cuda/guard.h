// Keeps the probe off GPUs that somebody uses, or that should not be worked on. docs/gpu_probe.md
// has the rules and their reasons.
#ifndef SEXTANT_GPU_PROBE_CUDA_GUARD_H_
#define SEXTANT_GPU_PROBE_CUDA_GUARD_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

// What the probe itself may take of a GPU: 2 GiB, but no more than a quarter of what is free.
int64_t MemoryCapBytes(int64_t free_bytes);

// OK where nothing in `reading` forbids to measure the GPU named `uuid`; `mps_sign` is that of
// CudaEnvironment. An empty list of processes proves nothing: memory or load is enough to refuse.
absl::Status CheckIdle(const GpuReading& reading, absl::string_view uuid,
                       absl::string_view mps_sign);

class Guard {
 public:
  // `sleep` waits for that many seconds.
  Guard(Nvml nvml, std::string uuid, std::string mps_sign,
        std::function<void(double seconds)> sleep);

  // Reads the GPU twice, kReadingPauseSeconds apart, and refuses at once where one reading
  // forbids it. Otherwise the most bytes that the probe may take. Makes no CUDA context.
  //
  // Errors: Refuse()'s, ReadGpu()'s.
  absl::StatusOr<int64_t> Admit();

  // Whether the probe may go on, asked between two phases, when it holds `own_bytes` beside its
  // context. After Admit(). Load says nothing then, being the probe's own.
  //
  // Errors: Refuse()'s, where a tenant has come or the GPU is hot; kDataLoss ("reason" "ecc") where
  // its memory has failed, so that results may be wrong; ReadGpu()'s.
  absl::Status MayGoOn(int64_t own_bytes) const;

 private:
  const Nvml nvml_;
  const std::string uuid_;
  const std::string mps_sign_;
  const std::function<void(double)> sleep_;
  GpuReading admitted_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GUARD_H_
