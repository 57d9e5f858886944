// The shape of a fused attention kernel.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_

#include <cstdint>

namespace sextant {

// Self-attention of `batch` sequences of equal length on one device. Multi-head latent attention
// without absorption is the same kernel, with key_value_heads = heads and key heads wider than
// value heads.
struct AttentionShape {
  int64_t batch = 1;
  int64_t sequence = 1;
  int64_t heads = 1;
  int64_t key_value_heads = 1;  // divides heads
  int64_t query_key_head_size = 1;
  int64_t value_head_size = 1;
  bool causal = true;
  int64_t window = 0;  // tokens visible to a token, itself included; 0: all

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

// A kernel's interpretation of a window.
enum class WindowForm {
  kSliding,  // each token sees the window that ends at it
  kChunked,  // the sequence is cut into windows that don't see each other
};

// Pairs of query and key that one head of one sequence attends to:
//   not causal: s min(s, w)
//   causal, sliding: w (w + 1) / 2 + (s - w) w, where w = s without a window
//   causal, chunked: w (w + 1) / 2 of every whole chunk, plus the same of the rest
// Derivation: sums of arithmetic series.
double AttendedPairs(const AttentionShape& shape, WindowForm form);

// 2 (query_key_head_size + value_head_size) FLOPs per pair and head, sliding: two matrix products
// with one multiplication and one addition each.
double AttentionFlops(const AttentionShape& shape);

// Elements of queries, keys, values and outputs: the minimum of memory traffic.
double AttentionElements(const AttentionShape& shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
