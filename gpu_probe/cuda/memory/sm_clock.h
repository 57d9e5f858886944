// The clock that a GPU's multiprocessors really have, counted by a kernel, and how to raise it.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_SM_CLOCK_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_SM_CLOCK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

// Cycles of one multiprocessor over nanoseconds of the GPU, for about a millisecond. In hertz.
//
// Errors: kInternal where either of them stands; GpuSession's.
absl::StatusOr<double> MeasureSmClock(const SharedSession& session);

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
