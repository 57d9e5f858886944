#include "tests/engine/tensor/float_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {

const std::vector<SmallFloat>& SmallFloats() {
  static const auto* const all = new std::vector<SmallFloat>{
      {"binary16", 5, 10, SpecialValues::kInfinitiesAndNan, 15},
      {"bfloat16", 8, 7, SpecialValues::kInfinitiesAndNan, 127},
      {"e4m3", 4, 3, SpecialValues::kNanOnly, 7},
      {"e5m2", 5, 2, SpecialValues::kInfinitiesAndNan, 15},
      {"e2m3", 2, 3, SpecialValues::kNone, 1},
      {"e3m2", 3, 2, SpecialValues::kNone, 3},
      {"e2m1", 2, 1, SpecialValues::kNone, 1},
  };
  return *all;
}

FloatLayout LayoutOf(const SmallFloat& f) {
  return {f.name, f.exponent_bits, f.fraction_bits, f.special_values};
}

double ReadCode(const SmallFloat& f, uint32_t code) {
  const int fraction_end = 1 << f.fraction_bits;
  const int exponent_end = 1 << f.exponent_bits;
  const int fraction = static_cast<int>(code) % fraction_end;
  const int exponent = static_cast<int>(code) / fraction_end % exponent_end;
  const bool negative = static_cast<int>(code) / fraction_end / exponent_end == 1;
  const bool last = exponent == exponent_end - 1;
  double magnitude = 0;
  if (last && f.special_values == SpecialValues::kInfinitiesAndNan) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (last && fraction == fraction_end - 1 && f.special_values == SpecialValues::kNanOnly) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, 1 - f.bias - f.fraction_bits);
  } else {
    magnitude = std::ldexp(fraction_end + fraction, exponent - f.bias - f.fraction_bits);
  }
  return negative ? -magnitude : magnitude;
}

std::vector<double> FiniteMagnitudes(const SmallFloat& f) {
  std::vector<double> out;
  const uint32_t codes = uint32_t{1} << (f.exponent_bits + f.fraction_bits);
  for (uint32_t code = 0; code < codes; ++code) {
    const double value = ReadCode(f, code);
    if (std::isfinite(value)) out.push_back(value);
  }
  return out;
}

double BeyondLargest(const SmallFloat& f) {
  const std::vector<double> all = FiniteMagnitudes(f);
  return all.back() + (all.back() - all[all.size() - 2]);
}

double NearestBySearch(const std::vector<double>& with_beyond, double magnitude) {
  const auto above = std::lower_bound(with_beyond.begin(), with_beyond.end(), magnitude);
  if (above == with_beyond.begin()) return *above;
  if (above == with_beyond.end()) return with_beyond.back();
  const double below = *(above - 1);
  const double middle = below + (*above - below) / 2;  // exact: few bits
  const bool even = (above - with_beyond.begin()) % 2 == 0;
  return magnitude > middle || (magnitude == middle && even) ? *above : below;
}

}  // namespace sextant
