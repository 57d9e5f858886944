// The same arithmetic on every multiprocessor of a GPU, to identify one that computes wrongly.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSORS_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSORS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSORS_H_
