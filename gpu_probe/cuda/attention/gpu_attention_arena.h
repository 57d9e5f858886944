// Memory that attention of several shapes uses, one at a time.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_ARENA_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_ARENA_H_

#include <array>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/attention/gpu_attention_check.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

struct GpuAttentionArena {
  std::array<DeviceMemory, kAttentionTensorCount> memory;
  GpuAttentionCheck check;

  DeviceMemory& of(AttentionTensor which) { return memory[static_cast<size_t>(which)]; }

  // For one of `shapes` at a time. Queries, keys, values and gradients of outputs are normal
  // numbers, so that scores are of variance 1.
  //
  // Errors: DeviceMemory::Allocate()'s; GpuSession's.
  static absl::StatusOr<std::shared_ptr<GpuAttentionArena>> Create(
      const std::vector<GpuAttentionShape>& shapes, bool backward, const SharedSession& session);
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_ARENA_H_
