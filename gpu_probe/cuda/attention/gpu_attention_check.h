// Checks of attention on a GPU: some tokens of each pass against the definition.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_CHECK_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_CHECK_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant::probe {

// As in kernels/attention.cu.
struct AttentionSizes {
  int64_t sequence = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  int64_t causal = 0;
  double scale = 0;
};
struct AttentionSample {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t token = 0;
};

// Tokens that a check compares: the first, the last, and random others.
inline constexpr int64_t kAttentionSampleCount = 32;

// The address of each tensor of an attention.
using AttentionAddresses = std::array<cuda::Address, kAttentionTensorCount>;

class GpuAttentionCheck {
 public:
  // Creates a check for one of `shapes` at a time.
  //
  // Errors: DeviceMemory::Allocate()'s.
  static absl::StatusOr<GpuAttentionCheck> Create(const std::vector<GpuAttentionShape>& shapes,
                                                  bool backward, const SharedSession& session);

  // Each call checks other tokens. kernels/attention.cu has the tolerances.
  //
  // Errors: kDataLoss saying what is wrong; the session's.
  absl::Status Forward(const GpuAttentionShape& shape, const AttentionAddresses& at);
  absl::Status Backward(const GpuAttentionShape& shape, const AttentionAddresses& at);

 private:
  // A comparison of a tensor that a library wrote.
  struct Compared {
    const char* kernel = nullptr;
    AttentionTensor out;
    AttentionTensor from;
    cuda::Address weights = 0;
    int64_t width = 0;
    double factor = 1;
    const char* what = nullptr;  // "outputs"
  };

  GpuAttentionCheck(SharedSession session, GpuCheck check)
      : session_(std::move(session)), check_(std::move(check)) {}

  // Draws tokens of one of `heads` heads.
  absl::Status Draw(const GpuAttentionShape& shape, int64_t heads);
  // Computes the softmax's weights of the drawn queries.
  absl::Status RowWeights(const GpuAttentionShape& shape, const AttentionAddresses& at);
  absl::Status Compare(const Compared& compared, const GpuAttentionShape& shape,
                       const AttentionAddresses& at);
  // Checks that every number of a tensor of `count` numbers was written.
  absl::Status Written(AttentionTensor which, const char* what, int64_t count,
                       const AttentionAddresses& at);
  LaunchShape ThreadsFor(int64_t count) const;
  std::string Place(const AttentionSample& sample) const;

  SharedSession session_;
  GpuCheck check_;
  DeviceMemory samples_memory_;
  DeviceMemory log_sums_;
  DeviceMemory weights_;
  DeviceMemory gradients_;  // of scores; backward pass only
  std::vector<AttentionSample> samples_;
  uint64_t draw_count_ = 0;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_CHECK_H_
