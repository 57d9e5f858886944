// A GPU's multiprocessors: the same arithmetic on each, to identify one that computes wrongly; and
// their actual clock, counted by a kernel, with a way to raise it.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSORS_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSORS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

inline constexpr unsigned kHashThreadCount = 256;  // of a block
inline constexpr unsigned kHashStepCount = 1024;
// Enough for each multiprocessor to get some, however blocks are distributed.
inline constexpr int64_t kHashBlocksOfMultiprocessor = 4;

// One point, whose time is not recorded. A note counts multiprocessors that no block ran on.
std::vector<Point> MultiprocessorPoints(const SharedSession& session);

// The buffers of the hashes, and of the multiprocessor of each block.
class MultiprocessorRun {
 public:
  // Errors: DeviceMemory::Allocate()'s.
  static absl::StatusOr<MultiprocessorRun> Create(const SharedSession& session);

  int64_t block_count() const { return block_count_; }
  // Queues one launch. Errors: GpuSession::Launch()'s.
  absl::Status Enqueue(GpuSession& session) const;
  // Queues overwriting all results. Errors: GpuSession::Fill()'s.
  absl::Status Poison(GpuSession& session) const;
  // Compares all results with the host's.
  //
  // Returns the number of multiprocessors that ran blocks. Errors: kDataLoss: "multiprocessor 17
  // computed ... in thread 3, not ..."; GpuSession's.
  absl::StatusOr<int64_t> Check(GpuSession& session) const;

 private:
  int64_t block_count_ = 0;
  DeviceMemory hashes_;
  DeviceMemory multiprocessors_;
};

// Counts the cycles of one multiprocessor between two instants any time apart.
class SmClockCounter {
 public:
  // Errors: DeviceMemory::Allocate()'s.
  static absl::StatusOr<SmClockCounter> Create(const SharedSession& session);

  // Records the clock now, and waits for that.
  //
  // Errors: GpuSession's.
  absl::Status Stamp();

  // The mean clock between the last two stamps, in hertz; absent with fewer stamps, or where one of
  // the GPU's clocks stood still.
  absl::optional<double> HertzBetweenStamps() const;

 private:
  // As in kernels/multiprocessor.cu.
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

// The state of a GPU after some work.
struct AwakeGpu {
  double sm_clock_hertz = 0;
  double seconds = 0;   // by the GPU's clock
  bool steady = false;  // the last two clocks differ by less than kSteadyClockRatio
};

inline constexpr double kMinWakeSeconds = 0.03;
inline constexpr double kMaxWakeSeconds = 0.1;
inline constexpr double kSteadyClockRatio = 0.02;

// Keeps all multiprocessors computing, for at least kMinWakeSeconds, until their clock is steady
// or kMaxWakeSeconds have passed: an idle GPU's clock is a fraction of its working clock.
//
// Errors: kInternal where either clock stands still; GpuSession's; DeviceMemory::Allocate()'s.
absl::StatusOr<AwakeGpu> WakeUp(const SharedSession& session);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSORS_H_
