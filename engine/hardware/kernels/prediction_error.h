// Errors of predictions against held-out times, and intervals based on them.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_PREDICTION_ERROR_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_PREDICTION_ERROR_H_

#include <algorithm>
#include <vector>

#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {

// Factors on the ends of an interval where data is lacking.
struct Widening {
  double low = 1;   // at most 1
  double high = 1;  // at least 1

  friend Widening operator*(Widening a, Widening b) { return {a.low * b.low, a.high * b.high}; }
};

// `time` `by` times as long, its ends widened; `least` is the best basis that it may still have.
inline KernelTime Widened(const KernelTime& time, double by, Widening widening,
                          KernelBasis least = KernelBasis::kMeasured) {
  return {.expected = time.expected * by,
          .low = time.low * (by * widening.low),
          .high = time.high * (by * widening.high),
          .basis = std::max(time.basis, least)};
}

// `widening` to the power `exponent`, e.g. the number of doublings.
Widening Power(Widening widening, double exponent);

// Quantiles, linear between ranks, of measured over predicted time; `ratios` is not empty.
PredictionError ErrorOf(std::vector<double> ratios);

// An interval that contains `expected`.
KernelTime TimeWithin(double expected_seconds, const PredictionError& error, Widening widening,
                      KernelBasis basis);

// A probe's stable median is accurate to about this share either way (docs/probe.md, "stable").
inline constexpr double kMedianDoubt = 0.025;

// `time` with at least that uncertainty: points that agree with each other better than each is
// known may share a common error.
KernelTime NoSurerThanAMedian(KernelTime time);

// `more` in addition to `error`, both independent, as a factor on what `error` makes of an end:
// logarithms add up in squares.
Widening WideningBeyond(const PredictionError& error, Widening more);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_PREDICTION_ERROR_H_
