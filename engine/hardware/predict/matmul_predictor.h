// Times of matrix multiplications in one data type on one device, from the best available data.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_MATMUL_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_MATMUL_PREDICTOR_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/ceiling_time.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_alignment.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/matmul_roofline.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/device_scale.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

class MatmulModel;

class MatmulPredictor {
 public:
  // For a product that was not measured here. The first of
  //   published multiplications in the type
  //   published ones in another type of the same width and peak, or of another scaling
  //   those of another product of the same chip, scaled by the peaks
  //   datasheet peaks, times the published share of them
  // Absent where the datasheet has no peak in `type`, or no bandwidth. A DataType means its
  // UsualMatmulType(), here and below.
  static absl::optional<MatmulPredictor> OfAccelerator(const Accelerator& accelerator,
                                                       MatmulType type);
  static absl::optional<MatmulPredictor> OfAccelerator(const Accelerator& accelerator,
                                                       DataType type);

  // For a measured device. The first of
  //   published multiplications, of fp8 by block: a probe scales fp8 by tensor
  //   its own multiplications in the type, at least kMinMatmulPoints
  //   its best rates
  //   OfAccelerator(), where its datasheet is known
  // Absent where none is available. Errors: those of MatmulModel::Of().
  static absl::StatusOr<absl::optional<MatmulPredictor>> OfMeasured(const MeasuredKernels& measured,
                                                                    MatmulType type);
  static absl::StatusOr<absl::optional<MatmulPredictor>> OfMeasured(const MeasuredKernels& measured,
                                                                    DataType type);

  // Makes it that of a device of the same product, which has not been scaled.
  void Scale(const DeviceScale& scale);

  // Finite and positive for dimensions of 1 to 2^40. Allocates nothing. Includes SlowdownOf().
  KernelTime Predict(const MatmulShape& shape) const;

  // The product alone of operands that are narrow already: Predict() less the separate passes that
  // find the scales of x and quantise it, which published narrow times include. Equal to Predict()
  // for types that are used as they are, and for the device's own multiplications: a probe times
  // the product alone (docs/gpu_probe.md, "Matrix multiplications").
  //
  //   t - min(q m k / B, 0.4 t),  q bytes moved per element of x, B bytes a second reached
  KernelTime PredictQuantised(const MatmulShape& shape) const;

  // The part of `seconds`, the time of a product of `shape`, in which x is quantised: 0 where
  // PredictQuantised() equals Predict().
  double QuantisedSeconds(const MatmulShape& shape, double seconds) const;

  // Time of the batch as one tall matmul with the same tiles (StackedMatmul()), plus the roofline
  // cost of the batch-1 extra second operands: docs/kernels_matmul.md, "In batches". Predict() for
  // a batch of one. No times of batches are published: kOtherPass at best.
  KernelTime PredictBatch(const MatmulBatch& matmul) const;

  // The share of the arithmetic in a product's time: by which share it takes longer where the
  // matrix units are a little slower, d ln t / d ln w of t = (w^2 + b^2)^(1/2) + t0, its roofline
  // of work, bytes and launch. 0 to 1: memory or launch bound, arithmetic bound. Allocates nothing.
  double WorkShare(const MatmulBatch& matmul) const;
  double WorkShare(const MatmulShape& shape) const { return WorkShare({.each = shape}); }

  // The stated slowdown of sizes off a multiple of 64 or 8. None on a processor, and where the
  // device itself measured such a shape within a factor of two in each size.
  MatmulSlowdown SlowdownOf(const MatmulBatch& matmul) const;

  // The model of the device's own multiplications; null where other data or rates are used.
  const MatmulModel* own_model() const { return own_.get(); }

  // Measured shapes, nearest first; empty where rates are used.
  std::vector<MatmulPoint> Nearest(const MatmulShape& shape, size_t most) const;

  const KernelSource& source() const { return source_; }

 private:
  MatmulPredictor() = default;
  static absl::optional<MatmulPredictor> OfReference(const Accelerator& accelerator,
                                                     MatmulType type);
  static absl::optional<MatmulPredictor> OfSameChip(const Accelerator& accelerator,
                                                    MatmulType type);
  static absl::optional<MatmulPredictor> OfCeilings(absl::optional<DeviceCeilings> ceilings,
                                                    MatmulType type);
  static absl::StatusOr<MatmulPredictor> OfOwn(const MeasuredKernels& measured,
                                               const MeasuredMatmulPoints& points, MatmulType type);
  void SetModelRoofline(absl::optional<OtherMatmulType> other);
  KernelTime PredictAligned(const MatmulShape& shape) const;
  // Applies SlowdownOf(`matmul`).
  void SlowDown(const MatmulBatch& matmul, KernelTime& time) const;
  KernelTime PredictAlignedBatch(const MatmulBatch& matmul) const;

  MatmulType type_;
  KernelSource source_;
  std::shared_ptr<const MatmulModel> own_ = nullptr;  // owns `model_`, if it is ours
  const MatmulModel* model_ = nullptr;                // null: by ceilings
  absl::optional<OtherMatmulType> other_ = {};        // set where the model is of another type
  SameChip chip_ = {};                                // likewise of another product
  KernelCeilings ceilings_ = {};
  MatmulRoofline roofline_ = {};  // of the model or of the ceilings, in the type itself
  double quantise_seconds_ = 0;   // per element of x; 0: no part of the time
  absl::optional<DeviceScale> scale_ = {};
  Widening version_ = {};                        // of kOtherVersion, beyond the model's own error
  bool has_slowdown_ = true;                     // false for a processor
  std::vector<MatmulShape> own_unaligned_ = {};  // measured shapes that SlowdownOf() is about
};

// The multiplications of one device, for predictors that build on them:
// MatmulPredictor::OfMeasured(), or a cached result of it.
using MatmulsOfDevice =
    absl::FunctionRef<absl::StatusOr<absl::optional<MatmulPredictor>>(MatmulType type)>;

// Factors on the interval of a batch. Not measured, assumed: wider than MatmulFallbacks::kOtherPass
// twice, because a library picks other kernels for batches, too, and tiles partly filled by each
// multiplication are not modelled.
inline constexpr Widening kMatmulBatch{.low = 0.8, .high = 1.6};

// Factors on the interval of published times, which are one version's of one library. Three pairs
// of versions and four of libraries took 0.92 to 1.13 times as long, 10th to 90th percentile of all
// seven, each made of its published 5th, 50th and 95th (docs/kernels_matmul.md, "Another version").
// It and the model's own error are independent: their logarithms add up by squares.
inline constexpr Widening kOtherVersion{.low = 0.92, .high = 1.15};

// The quantisation of x as a share of published times. Bandwidth reached, of the datasheet's:
// copies of large arrays reach 0.80 to 0.92 of it.
inline constexpr double kQuantiseBandwidthShare = 0.80;
inline constexpr double kMaxQuantised = 0.4;
// Factors on the quantisation's time: from less than what is counted, where x stays in the cache,
// to twice it, as published times show that are drawn over n to 0 (docs/kernels_matmul.md,
// "Operands that are narrow already").
inline constexpr double kMinQuantise = 0.5;
inline constexpr double kMaxQuantise = 2;
inline constexpr double kMaxQuantisedEver = 0.6;

// Bytes that the quantisation of an element of x moves: read twice in bf16, for the scale of a
// tensor and to quantise, or once where scales are of blocks, and written once. 0: none that is
// known.
double QuantisedBytes(MatmulType type);

// A library's usual scaling of operands of `type`: narrow ones with a scale per tensor, or per
// block where the format has blocks.
MatmulType UsualMatmulType(DataType type);

// The same, but fp8 with `scaling`, where that is given.
MatmulType ScaledMatmulType(DataType type, absl::optional<MatmulScaling> scaling);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_MATMUL_PREDICTOR_H_
