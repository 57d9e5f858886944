// Logarithmic axes, and how their powers of ten are written.
#ifndef SEXTANT_CLIENT_LOG_AXIS_H_
#define SEXTANT_CLIENT_LOG_AXIS_H_

#include <string>
#include <vector>

#include "client/roofline_chart.h"

namespace sextant {

// From 10^low to 10^high, low < high.
struct LogAxis {
  double low = 0;
  double high = 1;

  // 0 at the low end and 1 at the high one; what is beyond lies beyond. `value` is above 0.
  double Fraction(double value) const;

  // The value at a fraction.
  double ValueAt(double fraction) const;

  // Powers of ten on it, at most `most` (2 or more), evenly apart.
  std::vector<int> Ticks(int most) const;
};

// Both axes of a roofline: around all points, the roofs, and enough of the slope to hold two
// powers of ten.
struct ChartAxes {
  LogAxis intensity;
  LogAxis flops_per_second;
};

ChartAxes AxesOf(const RooflineChart& chart);

// 10^exponent with an SI prefix, "100 T", where there is one; between 0.001 and 1 as it is,
// "0.01"; else "1e27".
std::string PowerText(int exponent);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_LOG_AXIS_H_
