// Rounding a number to a floating-point layout.
#ifndef SEXTANT_ENGINE_TENSOR_FLOAT_ROUNDING_H_
#define SEXTANT_ENGINE_TENSOR_FLOAT_ROUNDING_H_

#include "engine/tensor/float_layout.h"

namespace sextant {

// What becomes of numbers beyond the largest finite one.
enum class OverflowRule {
  kSaturating,     // the largest finite number of their sign, infinities too
  kNonSaturating,  // infinity, or NaN where a layout has no infinity
};

enum class RoundingOutcome {
  kExact,
  kRounded,      // to a neighbour
  kUnderflowed,  // a number that is not zero became zero
  kOverflowed,   // the rounded number lies beyond the largest finite one
  kNotANumber,   // NaN was given, and NaN it stays
};

struct FloatRounding {
  double value = 0;
  RoundingOutcome outcome = RoundingOutcome::kExact;
  // Below the smallest normal number, not zero: fewer significant bits than fraction_bits + 1.
  bool subnormal = false;
};

// `value` rounded to the nearest number of `layout`, of two equally near the one whose code is
// even (IEEE 754-2019 section 4.3.1, roundTiesToEven). It overflows if, rounded as though the
// exponent had no upper end, it lies beyond the largest finite number (section 7.4). A layout
// with neither infinity nor NaN saturates by either rule; its answer to NaN is NaN, which no
// code of it stands for.
FloatRounding RoundToLayout(const FloatLayout& layout, double value, OverflowRule rule);

// `value` rounded to a whole number, of two equally near the even one.
double RoundToEven(double value);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_FLOAT_ROUNDING_H_
