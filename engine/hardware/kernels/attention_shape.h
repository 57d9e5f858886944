// A fused attention kernel's shape.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_

#include <cstdint>

namespace sextant {

// Self-attention of `batch` sequences of equal length on one device. Multi-head latent attention
// without absorption is the same kernel: key_value_heads = heads, and heads of keys wider than
// those of values.
struct AttentionShape {
  int64_t batch = 1;
  int64_t sequence = 1;
  int64_t heads = 1;
  int64_t key_value_heads = 1;  // divides heads
  int64_t query_key_head_size = 1;
  int64_t value_head_size = 1;
  bool causal = true;
  int64_t window = 0;  // tokens that one attends to, itself included; 0: all

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

// What kernels make of a window.
enum class WindowForm {
  kSliding,  // each token sees the window behind it
  kChunked,  // the sequence is cut into windows; none sees another
};

// Pairs of query and key that one head of one sequence allows:
//   not causal: s min(s, w)
//   causal, sliding: w (w + 1) / 2 + (s - w) w, where w = s without a window
//   causal, chunked: w (w + 1) / 2 of every whole chunk, and the same of the rest
// Derivation: sums of arithmetic series.
double AttendedPairs(const AttentionShape& shape, WindowForm form);

// 2 (query_key_head_size + value_head_size) FLOPs of a pair and head, sliding: two products of
// matrices, each a multiplication and an addition.
double AttentionFlops(const AttentionShape& shape);

// Elements of queries, keys, values and outputs: what memory has to carry at least.
double AttentionElements(const AttentionShape& shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
