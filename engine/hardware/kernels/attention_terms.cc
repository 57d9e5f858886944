#include "engine/hardware/kernels/attention_terms.h"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

// Of one head, masked pairs on the diagonal included.
double WorkedPairs(const AttentionShape& shape, AttentionForm form) {
  const double diagonal =
      shape.causal ? static_cast<double>(shape.sequence) * static_cast<double>(form.query_tile) / 2
                   : 0;
  return AttendedPairs(shape, form.window) + diagonal;
}

// Keys that the longest tile looks at.
double MostKeys(const AttentionShape& shape, AttentionForm form) {
  const auto sequence = static_cast<double>(shape.sequence);
  if (shape.window == 0 || shape.window >= shape.sequence) return sequence;
  // A sliding window moves on by a tile between a tile's first query and its last.
  const bool sliding = form.window == WindowForm::kSliding;
  const double moved = sliding ? static_cast<double>(form.query_tile) : 0;
  return std::min(sequence, static_cast<double>(shape.window) + moved);
}

// Keys of a query of the mean tile. Of chunks, that of a whole one: a last, short chunk doesn't
// make the others faster.
double MeanKeys(const AttentionShape& shape, AttentionForm form) {
  const bool chunked = form.window == WindowForm::kChunked && shape.causal && shape.window > 0 &&
                       shape.window < shape.sequence;
  if (!chunked) return WorkedPairs(shape, form) / static_cast<double>(shape.sequence);
  return (static_cast<double>(shape.window) + 1 + static_cast<double>(form.query_tile)) / 2;
}

}  // namespace

TermShape AttentionTerms(const AttentionShape& shape, AttentionForm form, int64_t compute_units) {
  const auto sequence = static_cast<double>(shape.sequence);
  const auto tile = static_cast<double>(form.query_tile);
  const auto units = static_cast<double>(compute_units);
  const double head_size = (static_cast<double>(shape.query_key_head_size) +
                            static_cast<double>(shape.value_head_size)) /
                           2;
  const double head_count = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double even = head_count * WorkedPairs(shape, form) * head_size / units;
  const double largest = tile * MostKeys(shape, form) * head_size;
  const double tiles = head_count * std::ceil(sequence / tile);
  const double mean_tile = tile * MeanKeys(shape, form) * head_size;
  const double token_elements = static_cast<double>(shape.batch) * sequence * 2 * head_size;
  AttentionShape whole = shape;
  whole.window = 0;
  const bool windowed = shape.window > 0;
  return {.terms = {1, even, std::max(even, largest), std::ceil(tiles / units) * mean_tile, largest,
                    token_elements * static_cast<double>(shape.heads),
                    token_elements * static_cast<double>(shape.key_value_heads),
                    windowed ? head_count * AttendedPairs(whole, WindowForm::kSliding) * head_size /
                                   units
                             : 0},
          .position = AttentionPosition(shape)};
}

TermPosition AttentionPosition(const AttentionShape& shape) {
  const double head_count = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double group =
      static_cast<double>(shape.heads) / static_cast<double>(shape.key_value_heads);
  return {std::log2(static_cast<double>(shape.sequence)), std::log2(head_count) / 2,
          shape.heads == shape.key_value_heads ? -1 : std::log2(group) / 2};
}

}  // namespace sextant
