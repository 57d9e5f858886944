// The shape of a fused attention kernel, and the amounts of work in it.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_

#include <cstdint>

#include "engine/base/units.h"

namespace sextant {

// Attention of `batch` sequences of equal length on one device: of a sequence to itself, or, with
// `key_sequence`, of some queries to more or fewer keys, as in a ring over devices or a chunk of a
// sequence. Where causal, the queries are the last of the keys' positions, as in Attention
// (engine/operation/operation.h). Multi-head latent attention without absorption is the same
// kernel, with key_value_heads = heads and key heads wider than value heads.
struct AttentionShape {
  int64_t batch = 1;
  int64_t sequence = 1;      // queries
  int64_t key_sequence = 0;  // keys; 0: as many as queries
  int64_t heads = 1;
  int64_t key_value_heads = 1;  // divides heads
  int64_t query_key_head_size = 1;
  int64_t value_head_size = 1;
  bool causal = true;
  int64_t window = 0;  // tokens visible to a token, itself included; 0: all

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

constexpr int64_t KeySequence(const AttentionShape& shape) {
  return shape.key_sequence == 0 ? shape.sequence : shape.key_sequence;
}

constexpr bool HasOtherLengths(const AttentionShape& shape) {
  return KeySequence(shape) != shape.sequence;
}

// A kernel's interpretation of a window.
enum class WindowForm {
  kSliding,  // each token sees the window that ends at it
  kChunked,  // the sequence is cut into windows that don't see each other
};

// Pairs of query and key that one head of one sequence attends to, of q queries, k keys and a
// window w (k where there is none):
//   not causal: q min(k, w)
//   causal, sliding: the sum of min(p, w) over the positions p = max(k - q, 0) + 1 .. k
//   causal, chunked: the sum of (p - 1) mod w + 1 over the same
// With q = k = s: w (w + 1) / 2 + (s - w) w, and w (w + 1) / 2 of every whole chunk plus the same
// of the rest. Queries before the first key attend to none. Derivation: sums of arithmetic series.
double AttendedPairs(const AttentionShape& shape, WindowForm form);

// 2 (query_key_head_size + value_head_size) FLOPs per pair and head, sliding: two matrix products
// with one multiplication and one addition each.
double AttentionFlops(const AttentionShape& shape);

// Keys of one sequence that any query attends to: of a causal window w at most the last q + w - 1.
double AttendedKeys(const AttentionShape& shape);

// Elements of queries, attended keys, their values, and outputs: the minimum of memory traffic.
double AttentionElements(const AttentionShape& shape);

// The sum of min(p, window) over the positions p above `below` up to `last`.
double SlidingSum(double below, double last, double window);

// A measured pass.
struct AttentionPoint {
  AttentionShape shape;
  Seconds time;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
