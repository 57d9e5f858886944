// Every number of small floating-point layouts, computed by ldexp alone.
#ifndef SEXTANT_TESTS_ENGINE_TENSOR_FLOAT_TABLES_H_
#define SEXTANT_TESTS_ENGINE_TENSOR_FLOAT_TABLES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/tensor/number_format.h"

namespace sextant {

// A layout by its definition, written down apart from the engine's.
struct SmallFloat {
  std::string name;
  int exponent_bits;
  int fraction_bits;
  SpecialValues special_values;
  int bias;
};

// binary16, bfloat16, e4m3, e5m2, e2m3, e3m2, e2m1.
inline const std::vector<SmallFloat>& SmallFloats() {
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

inline FloatLayout LayoutOf(const SmallFloat& f) {
  return {f.name, f.exponent_bits, f.fraction_bits, f.special_values};
}

// The number of a code, its sign bit included.
inline double ReadCode(const SmallFloat& f, uint32_t code) {
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

// All finite numbers from 0 up, in increasing order; the code of each is its index.
inline std::vector<double> FiniteMagnitudes(const SmallFloat& f) {
  std::vector<double> out;
  const uint32_t codes = uint32_t{1} << (f.exponent_bits + f.fraction_bits);
  for (uint32_t code = 0; code < codes; ++code) {
    const double value = ReadCode(f, code);
    if (std::isfinite(value)) out.push_back(value);
  }
  return out;
}

// The number after the last of FiniteMagnitudes(), had the exponent no end.
inline double BeyondLargest(const SmallFloat& f) {
  const std::vector<double> all = FiniteMagnitudes(f);
  return all.back() + (all.back() - all[all.size() - 2]);
}

// The number nearest to `magnitude` by search in FiniteMagnitudes() and BeyondLargest(), of two
// equally near the one whose index is even.
inline double NearestBySearch(const std::vector<double>& with_beyond, double magnitude) {
  const auto above = std::lower_bound(with_beyond.begin(), with_beyond.end(), magnitude);
  if (above == with_beyond.begin()) return *above;
  if (above == with_beyond.end()) return with_beyond.back();
  const double below = *(above - 1);
  const double middle = below + (*above - below) / 2;  // exact: few bits
  const bool even = (above - with_beyond.begin()) % 2 == 0;
  return magnitude > middle || (magnitude == middle && even) ? *above : below;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TENSOR_FLOAT_TABLES_H_
