// The chain of fusion_chain.h on a GPU, one pass an operation or one for all, timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_FUSION_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_FUSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_check.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/point.h"

namespace sextant {

// Both on arrays that no cache holds, so that each pass of the unfused chain reads from memory.
// Left out, with a note, where memory is short.
std::vector<Point> GpuFusionPoints(const SharedSession& session);

// Rows of kFusionChannelCount elements; x, residual and bias are random.
struct GpuFusionArrays {
  DeviceMemory x = {};
  DeviceMemory residual = {};
  DeviceMemory y = {};
  DeviceMemory bias = {};  // one row
  GpuCheck check;

  // Errors: DeviceMemory::Allocate()'s and GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<GpuFusionArrays>> Create(int64_t array_bytes,
                                                                 const SharedSession& session);
};

class GpuFusionWorkload : public GpuWorkload {
 public:
  GpuFusionWorkload(bool fused, std::shared_ptr<GpuFusionArrays> arrays,
                    const SharedSession& session);

  void Poison() override;
  // Compares y with the chain in double: fused and not, it rounds at different places.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;

  const bool fused_;
  const std::shared_ptr<GpuFusionArrays> arrays_;
  const uint64_t vector_count_;
  const LaunchShape shape_;
  absl::Status poisoned_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_FUSION_H_
