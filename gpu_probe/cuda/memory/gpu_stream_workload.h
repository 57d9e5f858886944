// One operation on the streams' arrays, timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_STREAM_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_STREAM_WORKLOAD_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_check.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

using GpuStreamOperation = v1::StreamMeasurement::Operation;

// a and b hold whole numbers of their places, c what operations write.
struct GpuStreamArrays {
  int64_t array_bytes = 0;
  DeviceMemory a = {};
  DeviceMemory b = {};  // none before AddB()
  DeviceMemory c = {};
  DeviceMemory sums = {};  // of READ, one a thread
  GpuCheck check;

  // Errors: DeviceMemory::Allocate()'s and GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<GpuStreamArrays>> Create(int64_t array_bytes,
                                                                 const SharedSession& session);
  // For TRIAD, where it is not there yet. Errors: Create()'s.
  absl::Status AddB(const SharedSession& session);
};

class GpuStreamWorkload : public GpuWorkload {
 public:
  // Passes over the first `pass_bytes` of each array.
  GpuStreamWorkload(GpuStreamOperation operation, int64_t pass_bytes,
                    std::shared_ptr<GpuStreamArrays> arrays, const SharedSession& session);

  void Poison() override;
  // Compares every element, or every thread's sum.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;
  absl::Status CheckOutput();
  absl::Status CheckSums();

  const GpuStreamOperation operation_;
  const int64_t pass_bytes_;
  const uint64_t vector_count_;
  const LaunchShape shape_;
  const std::shared_ptr<GpuStreamArrays> arrays_;
  absl::Status poisoned_;
};

// Bytes that a pass over arrays of `array_bytes` reads and writes.
double GpuStreamBytes(GpuStreamOperation operation, int64_t array_bytes);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_STREAM_WORKLOAD_H_
