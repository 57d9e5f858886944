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
#include "engine/hardware/kernels/matmul_model.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

class MatmulPredictor {
 public:
  // For a product that was not measured here. The first of
  //   published multiplications in the type
  //   published ones in another type of the same width and peak
  //   datasheet peaks, times the published share of them
  // Absent where the datasheet has no peak in `type`, or no bandwidth.
  static absl::optional<MatmulPredictor> OfAccelerator(const Accelerator& accelerator,
                                                       DataType type);

  // For a measured device. The first of
  //   its own multiplications in the type, at least kMinMatmulPoints
  //   its best rates
  //   OfAccelerator(), where its datasheet is known
  // Absent where none is available. Errors: those of MatmulModel::Of().
  static absl::StatusOr<absl::optional<MatmulPredictor>> OfMeasured(const MeasuredKernels& measured,
                                                                    DataType type);

  // Finite and positive for dimensions of 1 to 2^40. Allocates nothing.
  KernelTime Predict(const MatmulShape& shape) const;

  // Time of the batch as one tall matmul with the same tiles (StackedMatmul()), plus the roofline
  // cost of the batch-1 extra second operands: docs/kernels_gemm.md. Predict() for a batch of one.
  // No times of batches are published: kOtherPass at best.
  KernelTime PredictBatch(const MatmulBatch& matmul) const;

  // The model of the device's own multiplications; null where other data or rates are used.
  const MatmulModel* own_model() const { return own_.get(); }

  // Measured shapes, nearest first; empty where rates are used.
  std::vector<MatmulPoint> Nearest(const MatmulShape& shape, size_t most) const;

  const KernelSource& source() const { return source_; }

 private:
  MatmulPredictor() = default;
  static absl::optional<MatmulPredictor> OfReference(const Accelerator& accelerator, DataType type);
  static absl::optional<MatmulPredictor> OfCeilings(absl::optional<DeviceCeilings> ceilings,
                                                    DataType type);

  DataType type_ = DataType::kUnspecified;
  KernelSource source_;
  std::shared_ptr<const MatmulModel> own_ = nullptr;  // owns `model_`, if it is ours
  const MatmulModel* model_ = nullptr;                // null: by ceilings
  absl::optional<OtherMatmulType> other_ = {};        // set where the model is of another type
  KernelCeilings ceilings_ = {};
};

// The multiplications of one device, for predictors that build on them:
// MatmulPredictor::OfMeasured(), or a cached result of it.
using MatmulsOfDevice =
    absl::FunctionRef<absl::StatusOr<absl::optional<MatmulPredictor>>(DataType type)>;

// Factors on the interval of a batch. Not measured, assumed: wider than MatmulFallbacks::kOtherPass
// twice, because a library picks other kernels for batches, too, and tiles partly filled by each
// multiplication are not modelled.
inline constexpr Widening kMatmulBatch{.low = 0.8, .high = 1.6};

// A library's usual scaling of operands of `type`: narrow ones with a scale per tensor, or per
// block where the format has blocks.
MatmulType UsualMatmulType(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_MATMUL_PREDICTOR_H_
