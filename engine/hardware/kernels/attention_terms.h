// The terms of the time of a fused attention kernel.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_TERMS_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_TERMS_H_

#include <cstdint>

#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/term_fit.h"

namespace sextant {

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

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_TERMS_H_
