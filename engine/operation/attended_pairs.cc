#include "engine/operation/attended_pairs.h"

#include <algorithm>

namespace sextant {
namespace {

// Sum of min(p, w) over the whole numbers p = low .. high, 0 <= low <= high + 1: a ramp up to
// w, then flat. Products of counts, no difference of large numbers.
double SumOfMinima(int64_t low, int64_t high, int64_t w) {
  const int64_t ramp_end = std::min(high, w);
  const int64_t ramp = std::max<int64_t>(ramp_end - low + 1, 0);
  const int64_t flat = high - low + 1 - ramp;
  const double ramp_sum = static_cast<double>(ramp) * static_cast<double>(low + ramp_end) / 2;
  return ramp_sum + static_cast<double>(flat) * static_cast<double>(w);
}

int64_t WindowOf(const Attention& a) {
  return a.window == 0 ? a.key_length : std::min(a.window, a.key_length);
}

}  // namespace

double AttendedPairs(const Attention& a) {
  const int64_t w = WindowOf(a);
  if (!a.causal) return static_cast<double>(a.query_length) * static_cast<double>(w);
  const int64_t first = a.key_length - a.query_length + 1;
  const double with = SumOfMinima(first, a.key_length, w);
  const double without = SumOfMinima(first - 1, a.key_length - 1, w);
  switch (a.convention) {
    case CausalConvention::kWithDiagonal:
      return with;
    case CausalConvention::kWithoutDiagonal:
      return without;
    case CausalConvention::kPublished:
      break;
  }
  return (with + without) / 2;
}

int64_t AttendedKeys(const Attention& a) {
  if (a.window == 0 || !a.causal) return a.key_length;
  return std::min(a.key_length, a.query_length + std::min(a.window, kMaxDimension) - 1);
}

}  // namespace sextant
