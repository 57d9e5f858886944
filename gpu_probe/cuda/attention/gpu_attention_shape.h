// Shapes of self-attention to be timed, with their arithmetic and memory.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_SHAPE_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_SHAPE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// Sequences of equal length, bf16.
struct GpuAttentionShape {
  int64_t batch = 1;
  int64_t sequence = 1;
  int64_t heads = 1;
  int64_t kv_heads = 1;  // divides heads
  int64_t head_size = 128;
  int64_t value_head_size = 128;
  bool causal = true;

  int64_t tokens() const { return batch * sequence; }
  // Query heads that share one head of keys and values.
  int64_t group() const { return heads / kv_heads; }
  // The factor of scores before the softmax.
  float scale() const;
  // Counts only products of matrices, and only pairs that the mask allows (AttentionMeasurement).
  double ForwardFlops() const;
  double BackwardFlops() const { return 2.5 * ForwardFlops(); }
  // "2x4096 32/8 heads of 128 causal": batch x sequence, heads over key and value heads.
  std::string Text() const;
};

// Tensors in memory. Elements of all but statistics and sums are [batch, token, head, feature] in
// that order, as a layer's projections write them.
enum class AttentionTensor : int64_t {
  kQueries,
  kKeys,
  kValues,
  kOutputs,
  kStatistics,       // fp32 [batch, head, token]: logarithms of the sums of exponentials
  kOutputGradients,  // this and the following: backward pass only
  kQueryGradients,
  kKeyGradients,
  kValueGradients,
  kRowSums,    // fp32 [batch, head, token]: gradients times outputs
  kQuerySums,  // fp32: gradients of queries, accumulated
  kWorkspace,  // the library's
};
inline constexpr std::size_t kAttentionTensorCount = 12;

// Bytes of each tensor; 0 for those that a pass does not use. The workspace is the largest that the
// library was seen to ask for: gradients of each head's keys and values before they are added up,
// in fp32.
using AttentionBytes = std::array<int64_t, kAttentionTensorCount>;
AttentionBytes AttentionBytesOf(const GpuAttentionShape& shape, bool backward);

// The shapes of one pass in a mode. At least eight of each head size and mask, the least number for
// a model of times (engine/hardware/kernels/attention_model.h), spread over sequences, heads in the
// batch and queries that share keys. None in quick.
std::vector<GpuAttentionShape> ForwardAttentionShapes(v1::ProbeMode mode);
std::vector<GpuAttentionShape> BackwardAttentionShapes(v1::ProbeMode mode);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_SHAPE_H_
