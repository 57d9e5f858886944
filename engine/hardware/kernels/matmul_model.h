// The time of any matrix multiplication on one device, from measured times of a few shapes.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_MODEL_H_

#include <cmath>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/matmul_efficiency.h"
#include "engine/hardware/kernels/matmul_roofline.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"

namespace sextant {

// The inputs of a fit in addition to its shapes.
struct MatmulSetting {
  MatmulType type;
  MatmulForm form = MatmulForm::kGrid;
  double compute_units = 1;  // for kTiles
};

// A roofline, and the efficiency relative to it.
struct MatmulFit {
  MatmulRoofline roofline;
  MatmulEfficiency efficiency;

  double SecondsAt(const MatmulDimensions& size, const MatmulPosition& inside) const {
    const MatmulRoof roof = roofline.At(size);
    return roof.seconds * std::exp(efficiency.LogRatio(size, inside, roof.work_share));
  }
};

// `matmuls` is not empty.
MatmulFit FitMatmuls(const MatmulSetting& setting, absl::Span<const MatmulPoint> matmuls);

struct MatmulFormTrial {
  MatmulForm form = MatmulForm::kGrid;
  PredictionError error;
  // The mean of |ln(measured / predicted)|. Forms are chosen by it: over 40 shapes it is less
  // noisy than a quantile.
  double mean_log_error = 0;
};

// The error of a fit to `points`, evaluated on `checks`; neither is empty.
MatmulFormTrial TryMatmulForm(const MatmulSetting& setting, absl::Span<const MatmulPoint> points,
                              absl::Span<const MatmulPoint> checks);

// The error over all `matmuls`, each predicted by a fit to four fifths of them, without it.
PredictionError CrossValidate(const MatmulSetting& setting, absl::Span<const MatmulPoint> matmuls);

// The result of fitting a calibration, which takes long.
struct MatmulModelFit {
  MatmulFormTrial chosen;
  absl::optional<MatmulFormTrial> other = {};
  PredictionError error;
  MatmulTileLosses tile_costs = {};
  MatmulNodes grid = {};
};

// Logarithms of dimensions from low to high.
struct MatmulBox {
  MatmulPosition low = {};
  MatmulPosition high = {};
};

class MatmulModel {
 public:
  // Fits both forms to the points, keeps the one closer to the checks (kTiles, unless kGrid is
  // clearly closer), and refits that form to points and checks. With fewer than kMinTilePoints,
  // kGrid.
  //
  // Errors: those of CheckMatmulCalibration().
  static absl::StatusOr<MatmulModel> Of(const MatmulCalibration& calibration);

  // The same of a calibration without errors whose fit is known: found() of that model.
  static MatmulModel Of(const MatmulCalibration& calibration, const MatmulModelFit& found);
  MatmulModelFit found() const;

  // Finite and positive for dimensions of 1 to 2^40; others are clamped to this range. Allocates
  // nothing. The basis is never kMeasured: measured times are smoothed like all others, so that a
  // plan has no jump at measured shapes.
  KernelTime Predict(const MatmulShape& shape) const;

  // kOtherType: this type's efficiency applied to the other type's roofline.
  KernelTime PredictOtherType(const MatmulShape& shape, const OtherMatmulType& other) const;

  MatmulType type() const { return type_; }
  const MatmulFit& fit() const { return fit_; }
  // The error over all measured shapes, each predicted by a fit without it. Intervals use it.
  const PredictionError& error() const { return error_; }
  // The errors on the checks of a fit to the points alone, for the chosen form and the other one.
  // The other is absent where the device's compute units are unknown or there are too few shapes.
  const MatmulFormTrial& chosen() const { return chosen_; }
  const absl::optional<MatmulFormTrial>& other() const { return other_; }

  // All measured shapes, checks included.
  absl::Span<const MatmulPoint> measured() const { return measured_; }
  // Up to `most` of them, nearest first by the sum of squared differences of the logarithms of m,
  // n and k.
  std::vector<MatmulPoint> Nearest(const MatmulShape& shape, size_t most) const;

 private:
  // Without its fit.
  MatmulModel(MatmulType type, std::vector<MatmulPoint> measured);
  KernelTime Within(double seconds, const MatmulShape& shape, double octaves, Widening widening,
                    KernelBasis basis) const;

  MatmulType type_;
  MatmulFit fit_;
  MatmulBox box_;  // of the measured shapes
  PredictionError error_;
  Widening other_pass_;  // kOtherPass beyond error_
  MatmulFormTrial chosen_;
  absl::optional<MatmulFormTrial> other_ = {};
  std::vector<MatmulPoint> measured_;
};

// Intervals where a calibration lacks a shape, as factors on their ends. docs/kernels_matmul.md,
// "What a calibration lacks", has their data and derivation.
struct MatmulFallbacks {
  // 10th and 90th percentile of measured over predicted time, over the same of shapes inside:
  // shapes of up to two octaves (doublings) outside in one or two dimensions. For n > 2 octaves,
  // which were not measured, the power n / 2.
  static constexpr Widening kOutside{.low = 0.95, .high = 1.1};
  static constexpr double kOctavesMeasured = 2;
  // No transposed layout was measured. 10th and 90th percentile of an input gradient's time over
  // that of a forward product with as many FLOPs, 205 published pairs of an A100 and a B200: 0.90
  // to 1.13 (docs/step_time.md, "Operators of training steps"). Independent of the fit's error:
  // logarithms add up in squares.
  static constexpr Widening kOtherPass{.low = 0.9, .high = 1.13};
  // A type of equal peak, bytes and scaling (fp16 for bf16). Not measured, assumed.
  static constexpr Widening kEquivalentType{.low = 0.95, .high = 1.05};
  // Predicted from a slower type, a faster one takes 1.55 times its peak's time in the median; a
  // slower one from a faster, 0.65 times. Neither predicts the other well.
  static constexpr double kFasterType = 1.55;
  static constexpr double kSlowerType = 0.65;
  static constexpr Widening kFarType{.low = 0.65, .high = 1.6};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_MODEL_H_
