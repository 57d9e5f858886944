#include "engine/hardware/kernels/attention_shape.h"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

// Products of sizes up to 2^40 overflow an int64, so sizes become doubles first. Sums are of
// products, never differences of large ones.

// The sum of the integers above `below` up to `last`; 0 <= below <= last.
double SumBetween(double below, double last) { return (last - below) * (below + 1 + last) / 2; }

// The sum of (p - 1) mod window + 1 over the positions p above `below` up to `last`.
double ChunkedSum(double below, double last, double window) {
  const double chunks = std::floor(last / window);
  const double first_whole = std::ceil(below / window);
  const double rest = last - chunks * window;
  if (first_whole > chunks) {  // in the middle of one chunk
    return SumBetween(below - chunks * window, rest);
  }
  const double head = first_whole * window - below;  // ends its chunk
  return SumBetween(window - head, window) + (chunks - first_whole) * SumBetween(0, window) +
         SumBetween(0, rest);
}

double HeadSizes(const AttentionShape& shape) {
  return static_cast<double>(shape.query_key_head_size) +
         static_cast<double>(shape.value_head_size);
}

}  // namespace

double SlidingSum(double below, double last, double window) {
  const double ramp_end = std::max(std::min(last, window), below);
  return SumBetween(below, ramp_end) + (last - ramp_end) * window;
}

double AttendedPairs(const AttentionShape& shape, WindowForm form) {
  const auto queries = static_cast<double>(shape.sequence);
  const auto keys = static_cast<double>(KeySequence(shape));
  const double window = shape.window > 0 ? std::min(static_cast<double>(shape.window), keys) : keys;
  if (!shape.causal) return queries * window;
  const double before = std::max(keys - queries, 0.0);
  return form == WindowForm::kSliding ? SlidingSum(before, keys, window)
                                      : ChunkedSum(before, keys, window);
}

double AttentionFlops(const AttentionShape& shape) {
  return 2 * HeadSizes(shape) * static_cast<double>(shape.batch) *
         static_cast<double>(shape.heads) * AttendedPairs(shape, WindowForm::kSliding);
}

double AttendedKeys(const AttentionShape& shape) {
  const auto keys = static_cast<double>(KeySequence(shape));
  if (!shape.causal || shape.window == 0) return keys;
  return std::min(keys,
                  static_cast<double>(shape.sequence) + static_cast<double>(shape.window) - 1);
}

double AttentionElements(const AttentionShape& shape) {
  const double of_queries = static_cast<double>(shape.sequence) * static_cast<double>(shape.heads);
  const double of_keys = AttendedKeys(shape) * static_cast<double>(shape.key_value_heads);
  return static_cast<double>(shape.batch) * (of_queries + of_keys) * HeadSizes(shape);
}

}  // namespace sextant
