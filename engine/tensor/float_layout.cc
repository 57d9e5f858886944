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

// The code of a finite magnitude, if there is one: its multiple of the spacing at its exponent.
absl::optional<uint32_t> EncodeMagnitude(const FloatLayout& layout, double magnitude) {
  if (magnitude == 0) return 0;
  if (magnitude > LargestFinite(layout)) return absl::nullopt;
  const int exponent = std::max(std::ilogb(magnitude), layout.smallest_exponent());
  const double multiple = std::ldexp(magnitude, layout.fraction_bits - exponent);
  if (multiple != std::floor(multiple)) return absl::nullopt;
  // A normal number's leading bit adds 1 to the exponent's field, which a subnormal's lacks.
  const auto field = static_cast<uint32_t>(exponent - layout.smallest_exponent());
  return (field << layout.fraction_bits) + static_cast<uint32_t>(multiple);
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

double DecodeFloat(const FloatLayout& layout, uint32_t code) {
  const uint32_t fraction = code & FractionMask(layout);
  const uint32_t exponent = (code >> layout.fraction_bits) & ExponentMask(layout);
  const double sign = (code >> (layout.bits() - 1) & 1) == 1 ? -1 : 1;
  if (exponent == ExponentMask(layout) && layout.has_infinities()) {
    using Limits = std::numeric_limits<double>;
    return fraction == 0 ? sign * Limits::infinity() : Limits::quiet_NaN();
  }
  if (exponent == ExponentMask(layout) && fraction == FractionMask(layout) && layout.has_nan()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const uint32_t leading = exponent == 0 ? 0 : FractionMask(layout) + 1;
  const int spacing =
      std::max(static_cast<int>(exponent) - layout.bias(), layout.smallest_exponent()) -
      layout.fraction_bits;
  return sign * std::ldexp(static_cast<double>(leading + fraction), spacing);
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

}  // namespace sextant
