// The measured times that a device's matrix multiplications are predicted from.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_CALIBRATION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/gemm_shape.h"

namespace sextant {

struct MeasuredGemm {
  GemmShape shape;  // of the forward pass
  Seconds time;
};

// Times of one type on one device.
struct GemmCalibration {
  GemmType type;
  // What takes tiles of the result: streaming multiprocessors. Absent: not known, and then nothing
  // is said of tiles.
  absl::optional<int64_t> compute_units = {};
  // What the matrix units could do at most in this type; absent: not known, not checked.
  absl::optional<FlopsPerSecond> peak = {};
  // At least kFewestGemmPoints together; ChooseGemmPoints() chooses good ones of a larger table.
  std::vector<MeasuredGemm> points = {};
  // Shapes that the form is chosen by and the error is told of. Where there are fewer than
  // kFewestGemmChecks, or hardly a point beside them, every fourth of all shapes is one.
  std::vector<MeasuredGemm> checks = {};
};

// A processor's standard grid has 18 (docs/kernels_gemm.md, "few shapes").
inline constexpr size_t kFewestGemmPoints = 16;
inline constexpr size_t kFewestGemmChecks = 8;
// Fewer tell nothing of tiles: the form is kGrid.
inline constexpr size_t kFewestTilePoints = 24;

// Errors: kInvalidArgument, all of them together, naming calibration.gemm's
//   "data_type"      one that GemmElementBytes() doesn't know
//   "compute_units"  below 1 or above a million
//   "points"         fewer than kFewestGemmPoints or more than kMostKernelPoints, checks included
//   "points[i]"      a dimension outside 1 to 2^40; a time that is not finite, not positive or
//                    above a day; a rate above 1.1 of the peak; a shape given before; one that is
//                    not of the forward pass
//   "checks[i]"      the same
absl::Status CheckGemmCalibration(const GemmCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_CALIBRATION_H_
