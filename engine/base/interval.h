// Figures with the ends of their intervals.
#ifndef SEXTANT_ENGINE_BASE_INTERVAL_H_
#define SEXTANT_ENGINE_BASE_INTERVAL_H_

#include "engine/base/units.h"

namespace sextant {

// A figure that is predicted or estimated, not counted; 80 % of the true ones lie between its ends.
// low <= expected <= high.
template <typename T>
struct Interval {
  T low{};
  T expected{};
  T high{};

  // As often, or that much more.
  template <typename Factor>
  friend constexpr Interval operator*(const Interval& a, Factor by) {
    return {a.low * by, a.expected * by, a.high * by};
  }
  // With an exact part.
  friend constexpr Interval operator+(const Interval& a, T exact) {
    return {a.low + exact, a.expected + exact, a.high + exact};
  }
  // The rest of an exact whole.
  friend constexpr Interval operator-(T exact, const Interval& a) {
    return {exact - a.high, exact - a.expected, exact - a.low};
  }
};

using BytesInterval = Interval<Bytes>;
using SecondsInterval = Interval<Seconds>;

// A figure that is taken as it is.
template <typename T>
constexpr Interval<T> Exactly(T figure) {
  return {figure, figure, figure};
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_INTERVAL_H_
