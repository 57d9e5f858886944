// Binary floating-point layouts of any width: what they hold, and their codes.
#ifndef SEXTANT_ENGINE_TENSOR_FLOAT_LAYOUT_H_
#define SEXTANT_ENGINE_TENSOR_FLOAT_LAYOUT_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sextant {

// What a layout gives up of its largest finite values.
enum class SpecialValues {
  kInfinitiesAndNan,  // all codes of the largest exponent, as in IEEE 754
  kNanOnly,           // the codes with all exponent and fraction bits set: one NaN a sign
  kNone,              // nothing: every code is a finite number
};

// A sign bit, then the exponent, then the fraction, as in IEEE 754-2019 section 3.4; the
// exponent's bias is 2^(exponent_bits - 1) - 1. Exponent 0 is zero and the subnormals.
struct FloatLayout {
  absl::string_view name;  // "e4m3"
  int exponent_bits = 0;
  int fraction_bits = 0;
  SpecialValues special_values = SpecialValues::kInfinitiesAndNan;

  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  // Of the smallest normal number, and of the largest finite one: powers of 2.
  constexpr int smallest_exponent() const { return 1 - bias(); }
  constexpr int largest_exponent() const { return bias() + (has_infinities() ? 0 : 1); }
  constexpr bool has_infinities() const {
    return special_values == SpecialValues::kInfinitiesAndNan;
  }
  constexpr bool has_nan() const { return special_values != SpecialValues::kNone; }
};

double LargestFinite(const FloatLayout& layout);
double SmallestNormal(const FloatLayout& layout);
double SmallestSubnormal(const FloatLayout& layout);
// The spacing of the layout's numbers from 1 up.
double Epsilon(const FloatLayout& layout);
// How many codes are NaN.
int64_t NanCodeCount(const FloatLayout& layout);

// The number that the lowest bits() bits of `code` stand for. For layouts of at most 32 bits.
double DecodeFloat(const FloatLayout& layout, uint32_t code);

// The code of `value`; absent if the layout does not hold it. Of the codes of NaN it is the
// positive quiet one that IEEE 754-2019 section 6.2.1 prefers, or the layout's only one. For
// layouts of at most 32 bits.
absl::optional<uint32_t> EncodeFloat(const FloatLayout& layout, double value);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_FLOAT_LAYOUT_H_
