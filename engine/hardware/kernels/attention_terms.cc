#include "engine/hardware/kernels/attention_terms.h"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

// Pairs of one head, masked pairs on the diagonal included.
double WorkedPairs(const AttentionShape& shape, AttentionForm form) {
  const double diagonal =
      shape.causal ? static_cast<double>(shape.sequence) * static_cast<double>(form.query_tile) / 2
                   : 0;
  return AttendedPairs(shape, form.window) + diagonal;
}

// Keys of the longest tile.
double MostKeys(const AttentionShape& shape, AttentionForm form) {
  const auto keys = static_cast<double>(KeySequence(shape));
  if (shape.window == 0 || shape.window >= KeySequence(shape)) return keys;
  // A sliding window moves by one tile from a tile's first query to its last.
  const bool sliding = form.window == WindowForm::kSliding;
  const double moved = sliding ? static_cast<double>(form.query_tile) : 0;
  return std::min(keys, static_cast<double>(shape.window) + moved);
}

// Keys per query of the mean tile, of `waves`, with `wave_queries` of each head in one. For chunks,
// those of a whole chunk: a last, short chunk doesn't make the others faster.
//
// Queries at the end of more keys are filled up to whole waves by earlier ones, as far as there are
// keys: a partly filled wave takes as long, and further queries, which see fewer keys, may not make
// the waves shorter.
double MeanKeys(const AttentionShape& shape, AttentionForm form, double waves,
                double wave_queries) {
  const auto window = static_cast<double>(shape.window);
  const auto keys = static_cast<double>(KeySequence(shape));
  const auto tile = static_cast<double>(form.query_tile);
  const bool hides = shape.window > 0 && window < keys;
  if (form.window == WindowForm::kChunked && shape.causal && hides) return (window + 1 + tile) / 2;
  if (!shape.causal || KeySequence(shape) <= shape.sequence) {
    return WorkedPairs(shape, form) / static_cast<double>(shape.sequence);
  }
  const double filled = std::min(waves * wave_queries, keys);
  return SlidingSum(keys - filled, keys, hides ? window : keys) / filled + tile / 2;
}

}  // namespace

TermShape AttentionTerms(const AttentionShape& shape, AttentionForm form, int64_t compute_units) {
  const auto queries = static_cast<double>(shape.sequence);
  const auto tile = static_cast<double>(form.query_tile);
  const auto units = static_cast<double>(compute_units);
  const double head_size = (static_cast<double>(shape.query_key_head_size) +
                            static_cast<double>(shape.value_head_size)) /
                           2;
  const double head_count = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double even = head_count * WorkedPairs(shape, form) * head_size / units;
  const double largest = tile * MostKeys(shape, form) * head_size;
  const double waves = std::ceil(head_count * std::ceil(queries / tile) / units);
  const double mean_tile =
      tile * MeanKeys(shape, form, waves, units * tile / head_count) * head_size;
  const auto elements = [&](double tokens, int64_t heads) {
    return static_cast<double>(shape.batch) * tokens * 2 * head_size * static_cast<double>(heads);
  };
  AttentionShape whole = shape;
  whole.window = 0;
  const bool windowed = shape.window > 0;
  return {.terms = {1, even, std::max(even, largest), waves * mean_tile, largest,
                    elements(queries, shape.heads),
                    elements(AttendedKeys(shape), shape.key_value_heads),
                    windowed ? head_count * AttendedPairs(whole, WindowForm::kSliding) * head_size /
                                   units
                             : 0},
          .position = AttentionPosition(shape)};
}

TermPosition AttentionPosition(const AttentionShape& shape) {
  const double head_count = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double group =
      static_cast<double>(shape.heads) / static_cast<double>(shape.key_value_heads);
  const double length = (std::log2(static_cast<double>(shape.sequence)) +
                         std::log2(static_cast<double>(KeySequence(shape)))) /
                        2;
  return {length, std::log2(head_count) / 2,
          shape.heads == shape.key_value_heads ? -1 : std::log2(group) / 2};
}

}  // namespace sextant
