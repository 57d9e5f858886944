// Times of matrix multiplications in one data type on one device, from the best figures there are.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_GEMM_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_GEMM_PREDICTOR_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/gemm_model.h"
#include "engine/hardware/kernels/gemm_shape.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/roof_time.h"
#include "engine/hardware/predict/device_roofs.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

class GemmPredictor {
 public:
  // Of a product that was not measured here. The first of
  //   published multiplications in the type
  //   published ones in another type as wide and of the same peak
  //   datasheet peaks, and the share of them that somebody published
  // Absent where the datasheet has no peak in `type`, or no bandwidth.
  static absl::optional<GemmPredictor> OfAccelerator(const Accelerator& accelerator, DataType type);

  // Of a device that was measured. The first of
  //   its own multiplications in the type, at least kFewestGemmPoints
  //   its best rates
  //   OfAccelerator(), where its datasheet is known
  // Absent where none of them is there. Errors: those of GemmModel::Of().
  static absl::StatusOr<absl::optional<GemmPredictor>> OfMeasured(const MeasuredKernels& measured,
                                                                  DataType type);

  // Finite and positive for dimensions of 1 to 2^40. Allocates nothing.
  KernelTime Predict(const GemmShape& shape) const;

  // What a stacked one of the same tiles takes (StackedGemm()), and for the second operands of all
  // but one, which that one lacks, what they add to the roofline: docs/kernels_gemm.md. Of a batch
  // of one what Predict() says. Nobody published times of batches: kOtherPass at best.
  KernelTime PredictBatch(const BatchedGemm& gemm) const;

  // Measured shapes, nearest first; none where it stands on rates.
  std::vector<MeasuredGemm> Nearest(const GemmShape& shape, size_t most) const;

  const KernelSource& source() const { return source_; }

 private:
  GemmPredictor() = default;
  static absl::optional<GemmPredictor> OfReference(const Accelerator& accelerator, DataType type);
  static absl::optional<GemmPredictor> OfRoofs(absl::optional<DeviceRoofs> roofs, DataType type);

  DataType type_ = DataType::kUnspecified;
  KernelSource source_;
  std::shared_ptr<const GemmModel> own_ = nullptr;  // what `model_` points to, if that is ours
  const GemmModel* model_ = nullptr;                // null: by roofs
  absl::optional<OtherGemmType> other_ = {};        // where the model is of another type
  KernelRoofs roofs_ = {};
};

// Factors on the interval of a batch. Not measured, stated: wider than GemmFallbacks::kOtherPass
// twice over, since a library chooses among other kernels here too, and rows that fill no tile of
// their own are not seen.
inline constexpr Widening kBatchedGemm{.low = 0.8, .high = 1.6};

// How a library takes operands of `type`: narrow ones with a scale a tensor, or a block where the
// format has blocks.
GemmType UsualGemmType(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_GEMM_PREDICTOR_H_
