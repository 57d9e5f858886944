// How far predictions were from times that they had not seen, and intervals made of that.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_PREDICTION_ERROR_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_PREDICTION_ERROR_H_

#include <vector>

#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {

// Factors on the ends of an interval: what a basis lacks.
struct Widening {
  double low = 1;   // at most 1
  double high = 1;  // at least 1

  friend Widening operator*(Widening a, Widening b) { return {a.low * b.low, a.high * b.high}; }
};

// `widening` for `exponent` times as large a lack: of doublings, say.
Widening Power(Widening widening, double exponent);

// Quantiles, linear between ranks, of measured over predicted time; `ratios` are not empty.
PredictionError ErrorOf(std::vector<double> ratios);

// An interval that holds `expected`.
KernelTime TimeWithin(double expected_seconds, const PredictionError& error, Widening widening,
                      KernelBasis basis);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_PREDICTION_ERROR_H_
