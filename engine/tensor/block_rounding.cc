#include "engine/tensor/block_rounding.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sextant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// a / b for a >= 0 and b > 0, rounded to odd: exact, or of the two doubles around the quotient
// the one whose last bit is set. Rounded again to fewer bits that is as good as the quotient
// itself, where a nearest double could fall on a tie that the quotient is not on. Source: Boldo,
// Melquiond 2008, "Emulation of a FMA and correctly rounded sums: proved algorithms using
// rounding to odd", IEEE Transactions on Computers 57(4).
double OddQuotient(double a, double b) {
  const double nearest = a / b;
  const double rest = std::fma(-nearest, b, a);
  const bool odd = (std::bit_cast<uint64_t>(nearest) & 1) == 1;
  if (rest == 0 || odd || std::isinf(nearest)) return nearest;
  return std::nextafter(nearest, rest > 0 ? kInfinity : 0);
}

double PowerOfTwoScaleFor(const NumberFormat& format, double maximum) {
  if (maximum == 0) return format.block->smallest_scale;
  if (std::isinf(maximum)) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = std::ilogb(maximum) - format.layouts.front().largest_exponent();
  const double scale = std::ldexp(1, exponent);
  if (scale > format.block->largest_scale) return std::numeric_limits<double>::quiet_NaN();
  return std::fmax(scale, format.block->smallest_scale);
}

}  // namespace

double BlockScaleFor(const NumberFormat& format, double maximum) {
  if (std::isnan(maximum)) return maximum;
  if (!format.block->scale_layout.has_value()) return PowerOfTwoScaleFor(format, maximum);
  const double quotient = OddQuotient(maximum, LargestFinite(format.layouts.front()));
  return RoundToLayout(*format.block->scale_layout, quotient, OverflowRule::kSaturating).value;
}

FloatRounding RoundInBlock(const NumberFormat& format, double value, double scale) {
  if (std::isnan(value)) return {value, RoundingOutcome::kNotANumber, false};
  if (std::isnan(scale)) return {scale, RoundingOutcome::kOverflowed, false};
  if (value == 0) return {value, RoundingOutcome::kExact, false};
  if (scale == 0) return {std::copysign(0, value), RoundingOutcome::kUnderflowed, false};
  const double quotient = std::copysign(OddQuotient(std::abs(value), scale), value);
  FloatRounding out = RoundToLayout(format.layouts.front(), quotient, OverflowRule::kSaturating);
  out.value *= scale;
  return out;
}

}  // namespace sextant
