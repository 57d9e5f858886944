// What counts as a FLOP.
//
// One for each addition, subtraction, multiplication, division and comparison; a multiply-add
// is two. An accumulator starts at its identity, so that a sum of n numbers is n additions, as
// in 2 m n k. Changing a sign, choosing between two values, copying and drawing random numbers
// are free. exp, log, tanh, erf and (reciprocal) square root count `transcendental`: one by
// default, although special function units take longer than that.
#ifndef SEXTANT_ENGINE_OPERATION_FLOP_CONVENTION_H_
#define SEXTANT_ENGINE_OPERATION_FLOP_CONVENTION_H_

#include "engine/base/units.h"

namespace sextant {

inline constexpr double kFlopsPerMultiplyAdd = 2;

struct FlopConvention {
  double transcendental = 1;  // FLOPs; at least 0
};

// Arithmetic on one element (or on one row).
struct Work {
  double plain = 0;
  double transcendental = 0;

  friend constexpr Work operator+(Work a, Work b) {
    return {a.plain + b.plain, a.transcendental + b.transcendental};
  }
  friend constexpr Work operator*(Work a, double k) { return {a.plain * k, a.transcendental * k}; }
};

constexpr Flops FlopsOf(Work work, FlopConvention convention) {
  return Flops(work.plain + work.transcendental * convention.transcendental);
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_FLOP_CONVENTION_H_
