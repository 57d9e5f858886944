// The shape of a fused attention kernel, and the amounts of work in it.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_

#include <cstdint>

#include "engine/hardware/kernels/term_fit.h"

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

// A kernel's tiling, as inferred from its times.
struct AttentionForm {
  int64_t query_tile = 128;  // queries of one head per thread block
  WindowForm window = WindowForm::kSliding;
};

// Terms of a forward pass on `compute_units` streaming multiprocessors. Work is pairs times heads
// times the mean of both head sizes; tiles are blocks of `query_tile` queries of one head:
//
//   0  1                                     launch
//   1  total / units                         evenly spread work
//   2  max(total / units, largest tile)      the same where the longest block runs last
//   3  ceil(tiles / units) mean tile         waves of equal blocks
//   4  largest tile                          a tail: blocks end at different times
//   5  elements of queries and outputs       memory
//   6  elements of attended keys and values  memory, and writing a cache
//   7  total without the window / units      a kernel that also computes pairs outside the window
//
// A causal tile does half a tile of masked work on the diagonal: q tile / 2 pairs per head of q
// queries.
// docs/kernels_attention.md, "Attention", derives the terms. Sizes are at least 1.
TermShape AttentionTerms(const AttentionShape& shape, AttentionForm form, int64_t compute_units);

// log2 of the sequence (the mean of both where queries and keys differ), half of log2 of batch x
// heads, and half of log2 of heads over key and value heads. The last is -1 where these are equal:
// kernels of grouped queries pack the queries of a group into one tile, others don't.
TermPosition AttentionPosition(const AttentionShape& shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_SHAPE_H_
