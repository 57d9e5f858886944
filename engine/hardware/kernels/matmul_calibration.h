// Measured times of a device's matrix multiplications, the input of predictions.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_CALIBRATION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_CALIBRATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/matmul_shape.h"

namespace sextant {

struct MatmulPoint {
  MatmulShape shape;  // of the forward pass
  Seconds time;
};

// Times of one type on one device.
struct MatmulCalibration {
  MatmulType type;
  // Units that process tiles of the result: streaming multiprocessors. Absent: unknown; then tiles
  // are not modelled.
  absl::optional<int64_t> compute_units = {};
  // The peak rate of the matrix units in this type; absent: unknown, not checked.
  absl::optional<FlopsPerSecond> peak = {};
  // With `checks` at least kMinMatmulPoints.
  std::vector<MatmulPoint> points = {};
  // Shapes used to choose the form and to report the error. Where there are fewer than
  // kMinMatmulChecks, or hardly any other points, every fourth of all shapes is used.
  std::vector<MatmulPoint> checks = {};
};

// A processor's standard grid has 18 (docs/kernels_matmul.md, "Few shapes").
inline constexpr size_t kMinMatmulPoints = 16;
inline constexpr size_t kMinMatmulChecks = 8;
// With fewer points tiles can't be resolved: the form is kGrid.
inline constexpr size_t kMinTilePoints = 24;

// Errors: kInvalidArgument, all of them together, naming calibration.gemm's
//   "data_type"      a type that MatmulElementBytes() doesn't know
//   "compute_units"  below 1 or above a million
//   "points"         fewer than kMinMatmulPoints or more than kMaxKernelPoints, checks included
//   "points[i]"      a dimension outside 1 to 2^40; a time that is not finite, not positive or
//                    above a day; a rate above 1.1 of the peak; a duplicate shape; a shape that is
//                    not a forward pass
//   "checks[i]"      the same
absl::Status CheckMatmulCalibration(const MatmulCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_CALIBRATION_H_
