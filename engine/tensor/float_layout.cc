#include "engine/tensor/float_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

// The lowest `count` bits set; `count` is below 32.
constexpr uint32_t LowBits(int count) { return (uint32_t{1} << count) - 1; }

constexpr uint32_t FractionMask(const FloatLayout& layout) { return LowBits(layout.fraction_bits); }

constexpr uint32_t ExponentMask(const FloatLayout& layout) { return LowBits(layout.exponent_bits); }

uint32_t NanCode(const FloatLayout& layout) {
  const uint32_t exponent = ExponentMask(layout) << layout.fraction_bits;
  if (layout.special_values == SpecialValues::kNanOnly) return exponent | FractionMask(layout);
  return exponent | (uint32_t{1} << (layout.fraction_bits - 1));
}

// The code of a finite magnitude, if any: its multiple of the spacing at its exponent.
absl::optional<uint32_t> EncodeMagnitude(const FloatLayout& layout, double magnitude) {
  if (magnitude == 0) return 0;
  if (magnitude > LargestFinite(layout)) return absl::nullopt;
  const int exponent = std::max(std::ilogb(magnitude), layout.smallest_exponent());
  const double multiple = std::ldexp(magnitude, layout.fraction_bits - exponent);
  if (multiple != std::floor(multiple)) return absl::nullopt;
  // A normal number's leading bit adds 1 to the exponent's field; a subnormal has none.
  const auto field = static_cast<uint32_t>(exponent - layout.smallest_exponent());
  return (field << layout.fraction_bits) + static_cast<uint32_t>(multiple);
}

// Rounds to the layout's grid with an unbounded exponent. Scaling by powers of two is exact here:
// the scaled value of a finite double is within a double's normal range, or far below half the
// layout's smallest number.
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

double LargestFinite(const FloatLayout& layout) {
  const int taken = layout.special_values == SpecialValues::kNanOnly ? 2 : 1;
  return std::ldexp(2 - taken * Epsilon(layout), layout.largest_exponent());
}

double SmallestNormal(const FloatLayout& layout) {
  return std::ldexp(1, layout.smallest_exponent());
}

double SmallestSubnormal(const FloatLayout& layout) {
  return std::ldexp(1, layout.smallest_exponent() - layout.fraction_bits);
}

double Epsilon(const FloatLayout& layout) { return std::ldexp(1, -layout.fraction_bits); }

int64_t NanCodeCount(const FloatLayout& layout) {
  switch (layout.special_values) {
    case SpecialValues::kInfinitiesAndNan:
      return 2 * ((int64_t{1} << layout.fraction_bits) - 1);
    case SpecialValues::kNanOnly:
      return 2;
    case SpecialValues::kNone:
      break;
  }
  return 0;
}

absl::optional<uint32_t> EncodeFloat(const FloatLayout& layout, double value) {
  if (std::isnan(value)) {
    if (!layout.has_nan()) return absl::nullopt;
    return NanCode(layout);
  }
  const uint32_t sign = std::signbit(value) ? uint32_t{1} << (layout.bits() - 1) : 0;
  if (std::isinf(value)) {
    if (!layout.has_infinities()) return absl::nullopt;
    return sign | (ExponentMask(layout) << layout.fraction_bits);
  }
  const absl::optional<uint32_t> magnitude = EncodeMagnitude(layout, std::abs(value));
  if (!magnitude.has_value()) return absl::nullopt;
  return sign | *magnitude;
}

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
