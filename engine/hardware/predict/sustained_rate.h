// The slowdown of matrix products from bursts of milliseconds to runs of minutes.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_SUSTAINED_RATE_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_SUSTAINED_RATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// Factors on a burst's time.
struct Derating {
  double expected = 1;  // at least 1
  double high = 1;      // at least `expected`; the low end stays the burst's
  std::string citation = {};
};

// For a device without a measured long run. Long searches average 0.80 of the H100's dense bf16
// peak (stas00/ml-engineering), where the best burst of published tables has 0.87; a B200 lost 15
// % after 5 ms of back-to-back work (flashinfer pull request 2899).
struct StatedDerating {
  static constexpr double kExpected = 0.87 / 0.80;
  static constexpr double kHigh = 1 / 0.85;
};
Derating DeratingOfUnmeasured();

// The first of
//   the sustained over the burst time of one shape in `type`, where both were measured
//   the sustained time of that shape over its burst time by `matmuls`
//   no derating for a processor: its grids run for seconds
//   DeratingOfUnmeasured()
//
// Errors: those of `matmuls`.
absl::StatusOr<Derating> DeratingOfMeasured(const MeasuredKernels& measured, DataType type,
                                            MatmulsOfDevice matmuls);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_SUSTAINED_RATE_H_
