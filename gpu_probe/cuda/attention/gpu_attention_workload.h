// Attention by cuDNN, timed: one pass of one shape.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_WORKLOAD_H_

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/attention/cudnn_session.h"
#include "gpu_probe/cuda/attention/gpu_attention_arena.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "gpu_probe/cuda/gpu_workload.h"

namespace sextant {

class GpuAttentionWorkload : public GpuWorkload {
 public:
  struct Parts {
    GpuAttentionShape shape;
    bool backward = false;
    SharedSession session;
    std::shared_ptr<CudnnSession> cudnn;
    std::shared_ptr<GpuAttentionArena> arena;
  };

  // A backward pass first runs the forward one, whose outputs and statistics it needs, into memory
  // of its own.
  //
  // Errors: kUnimplemented where cuDNN has no kernel; kResourceExhausted; the session's.
  static absl::StatusOr<std::unique_ptr<Workload>> Create(Parts parts);

  void Poison() override;
  // Compares some tokens with attention by its definition, and looks whether all were written.
  absl::Status Check() override;

 private:
  explicit GpuAttentionWorkload(Parts parts)
      : GpuWorkload(parts.session, HostPart::kQueues), parts_(std::move(parts)) {}
  absl::Status Enqueue() override;

  absl::Status Start();
  absl::Status RunForward();
  absl::StatusOr<CudnnDescriptor> PackOf(const CudnnPlan& plan, bool backward) const;
  cuda::Address AddressOf(AttentionTensor which) const;

  const Parts parts_;
  DeviceMemory outputs_;  // of a backward pass
  DeviceMemory statistics_;
  // What the host gives the graph, in the order of AttentionNumber.
  std::array<float, 3> numbers_ = {};
  CudnnPlan plan_;
  CudnnDescriptor pack_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_WORKLOAD_H_
