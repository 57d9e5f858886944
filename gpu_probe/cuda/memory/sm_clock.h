// The clock that a GPU's multiprocessors really have, counted by a kernel, and how to raise it.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_SM_CLOCK_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_SM_CLOCK_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

// Cycles of one multiprocessor over nanoseconds of the GPU, for about a millisecond. In hertz.
//
// Errors: kInternal where either of them stands; GpuSession's.
absl::StatusOr<double> MeasureSmClock(const SharedSession& session);

// Counts the cycles of one multiprocessor between two instants, however long.
class SmClockCounter {
 public:
  // Errors: DeviceMemory::Allocate()'s.
  static absl::StatusOr<SmClockCounter> Create(const SharedSession& session);

  // Notes the clock now, and waits for that.
  //
  // Errors: GpuSession's.
  absl::Status Stamp();

  // The mean clock between the last two stamps, in hertz; absent where there were fewer, or one of
  // the GPU's clocks stood.
  absl::optional<double> HertzBetweenStamps() const;

 private:
  // As kernels/clock.cu has it.
  struct ClockStamp {
    int64_t cycles = 0;
    uint64_t ns = 0;
  };
  static_assert(sizeof(ClockStamp) == 16);

  SmClockCounter(SharedSession session, DeviceMemory memory)
      : session_(std::move(session)), memory_(std::move(memory)) {}

  SharedSession session_;
  DeviceMemory memory_;
  ClockStamp before_;
  ClockStamp last_;
};

// A GPU at work for a while.
struct AwakeGpu {
  double sm_clock_hertz = 0;
  double seconds = 0;   // by the GPU's clock
  bool steady = false;  // the last two clocks differ by less than kSteadyClockRatio
};

inline constexpr double kLeastWakeSeconds = 0.03;
inline constexpr double kMostWakeSeconds = 0.1;
inline constexpr double kSteadyClockRatio = 0.02;

// Has all multiprocessors compute, for kLeastWakeSeconds at least, until their clock is steady or
// kMostWakeSeconds are over: an idle GPU's clock is a fraction of what it has at work.
//
// Errors: MeasureSmClock()'s; DeviceMemory::Allocate()'s.
absl::StatusOr<AwakeGpu> WakeUp(const SharedSession& session);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_SM_CLOCK_H_
