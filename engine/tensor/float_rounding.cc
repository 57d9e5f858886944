#include "engine/tensor/float_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

// On the layout's grid, as though its exponent had no upper end. Scaling by powers of two is
// exact here: what a finite double is scaled to lies within a double's normal range, or far
// below half the layout's smallest number.
double RoundUnbounded(const FloatLayout& layout, double value) {
  if (value == 0) return value;
  const int exponent = std::max(std::ilogb(value), layout.smallest_exponent());
  const int spacing = exponent - layout.fraction_bits;
  return std::ldexp(RoundToEven(std::ldexp(value, -spacing)), spacing);
}

FloatRounding Overflowed(const FloatLayout& layout, double value, OverflowRule rule) {
  double magnitude = LargestFinite(layout);
  if (rule == OverflowRule::kNonSaturating && layout.has_nan()) {
    magnitude = layout.has_infinities() ? std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
  }
  return {std::copysign(magnitude, value), RoundingOutcome::kOverflowed, false};
}

}  // namespace

// std::nearbyint would follow the thread's rounding mode.
double RoundToEven(double value) {
  const double below = std::floor(value);
  const double rest = value - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return std::copysign(up ? below + 1 : below, value);
}

FloatRounding RoundToLayout(const FloatLayout& layout, double value, OverflowRule rule) {
  if (std::isnan(value)) return {value, RoundingOutcome::kNotANumber, false};
  if (std::isinf(value)) {
    const bool held = layout.has_infinities() && rule == OverflowRule::kNonSaturating;
    if (held) return {value, RoundingOutcome::kExact, false};
    return Overflowed(layout, value, rule);
  }
  const double rounded = RoundUnbounded(layout, value);
  if (std::abs(rounded) > LargestFinite(layout)) return Overflowed(layout, value, rule);
  if (rounded == value) {
    return {rounded, RoundingOutcome::kExact,
            rounded != 0 && std::abs(rounded) < SmallestNormal(layout)};
  }
  if (rounded == 0) return {rounded, RoundingOutcome::kUnderflowed, false};
  return {rounded, RoundingOutcome::kRounded, std::abs(rounded) < SmallestNormal(layout)};
}

}  // namespace sextant
