#include "engine/hardware/kernels/attention_shape.h"

#include <cmath>

namespace sextant {
namespace {

double Triangle(double side) { return side * (side + 1) / 2; }

// Products of sizes up to 2^40 overflow an int64, so sizes become doubles first.
double HeadSizes(const AttentionShape& shape) {
  return static_cast<double>(shape.query_key_head_size) +
         static_cast<double>(shape.value_head_size);
}

}  // namespace

double AttendedPairs(const AttentionShape& shape, WindowForm form) {
  const auto sequence = static_cast<double>(shape.sequence);
  const bool windowed = shape.window > 0 && shape.window < shape.sequence;
  const double window = windowed ? static_cast<double>(shape.window) : sequence;
  if (!shape.causal) return sequence * window;
  if (form == WindowForm::kSliding) return Triangle(window) + (sequence - window) * window;
  const double chunks = std::floor(sequence / window);
  return chunks * Triangle(window) + Triangle(sequence - chunks * window);
}

double AttentionFlops(const AttentionShape& shape) {
  return 2 * HeadSizes(shape) * static_cast<double>(shape.batch) *
         static_cast<double>(shape.heads) * AttendedPairs(shape, WindowForm::kSliding);
}

double AttentionElements(const AttentionShape& shape) {
  return static_cast<double>(shape.batch) * static_cast<double>(shape.sequence) *
         (static_cast<double>(shape.heads) + static_cast<double>(shape.key_value_heads)) *
         HeadSizes(shape);
}

}  // namespace sextant
