// The time of any matrix multiplication on one device, from measured times of a few shapes.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/gemm_calibration.h"
#include "engine/hardware/kernels/gemm_grid.h"
#include "engine/hardware/kernels/gemm_shape.h"
#include "engine/hardware/kernels/gemm_trial.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"

namespace sextant {

// A type that was not measured, beside the one that was.
struct OtherGemmType {
  GemmType type;
  double peak_ratio = 1;  // its datasheet peak over that of the measured type; positive
};

// Logarithms of dimensions from low to high.
struct GemmBox {
  GemmPosition low = {};
  GemmPosition high = {};
};

class GemmModel {
 public:
  // Fits both forms to the points, keeps the one that is nearer to the checks (kTiles, unless kGrid
  // is clearly nearer), and fits that to points and checks. Of fewer than kFewestTilePoints kGrid.
  //
  // Errors: those of CheckGemmCalibration().
  static absl::StatusOr<GemmModel> Of(const GemmCalibration& calibration);

  // Finite and positive for dimensions of 1 to 2^40; others count as the nearest of those.
  // Allocates nothing. The basis is never kMeasured: a measured time is smoothed as all others
  // are, so that a plan has no jump at shapes that happen to be points.
  KernelTime Predict(const GemmShape& shape) const;

  // kOtherType: this type's efficiency on the other's roofline.
  KernelTime PredictOtherType(const GemmShape& shape, const OtherGemmType& other) const;

  GemmType type() const { return type_; }
  const GemmFit& fit() const { return fit_; }
  // Of all that was measured, each shape predicted by a fit that had not seen it. Intervals are of
  // it.
  const PredictionError& error() const { return error_; }
  // On the checks, by a fit to the points alone: the form that was chosen, and the other, which is
  // absent where the device's compute units are not known, or shapes are too few.
  const GemmTrial& chosen() const { return chosen_; }
  const absl::optional<GemmTrial>& other() const { return other_; }

  // All that was measured, checks included.
  absl::Span<const MeasuredGemm> measured() const { return measured_; }
  // Up to `most` of them, nearest first: by the sum of squared differences of the logarithms of m,
  // n and k.
  std::vector<MeasuredGemm> Nearest(const GemmShape& shape, size_t most) const;

 private:
  GemmModel() = default;
  KernelTime Within(double seconds, const GemmShape& shape, double octaves, Widening widening,
                    KernelBasis basis) const;

  GemmType type_;
  GemmFit fit_;
  GemmBox box_;  // of what was measured
  PredictionError error_;
  GemmTrial chosen_;
  absl::optional<GemmTrial> other_ = {};
  std::vector<MeasuredGemm> measured_;
};

// Intervals of what a calibration lacks; factors on its ends. docs/kernels_gemm.md has the figures
// that they are of and what made them.
struct GemmFallbacks {
  // 10th and 90th percentile of measured over predicted time, over the same of shapes inside:
  // shapes of up to two octaves (doublings) outside in one or two dimensions. Of more octaves the
  // power of their number's half is taken: nobody measured those.
  static constexpr Widening kOutside{.low = 0.95, .high = 1.1};
  static constexpr double kOctavesMeasured = 2;
  // No transposed layout was measured. Two libraries' choices of kernels for the same layout on the
  // same device stand in for it: 0.93 to 1.18 (5th to 95th percentile, bf16 on an H100).
  static constexpr Widening kOtherPass{.low = 0.9, .high = 1.2};
  // A type of equal peak, bytes and scaling (fp16 for bf16). Not measured, stated.
  static constexpr Widening kLikeType{.low = 0.95, .high = 1.05};
  // A faster type from a slower one takes 1.55 times what its peak says in the median, and a slower
  // one from a faster 0.65; neither tells the other much.
  static constexpr double kFasterType = 1.55;
  static constexpr double kSlowerType = 0.65;
  static constexpr Widening kFarType{.low = 0.65, .high = 1.6};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_MODEL_H_
