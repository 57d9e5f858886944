// Times of layers of experts in one data type on one device, from the best figures there are.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_GROUPED_GEMM_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_GROUPED_GEMM_PREDICTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/grouped_gemm_model.h"
#include "engine/hardware/kernels/grouped_gemm_shape.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/device_roofs.h"
#include "engine/hardware/predict/gemm_predictor.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

// Layers of experts that are multiplied in a type, with a gate or without.
struct ExpertsKind {
  DataType type = DataType::kUnspecified;
  bool gated = true;
};

class GroupedGemmPredictor {
 public:
  // Of a product that was not measured here. The first of
  //   published layers of the kind
  //   published layers in another type as wide and of the same peak
  //   the sum of their products by GemmPredictor::OfAccelerator()
  // Absent where that is.
  static absl::optional<GroupedGemmPredictor> OfAccelerator(const Accelerator& accelerator,
                                                            ExpertsKind kind);

  // Of a device that was measured. The first of
  //   its own layers of the kind, at least GroupedGemmModel::kLeastPoints
  //   published layers of its product in the type
  //   its own layers, then published ones, in another type as wide and of the same peak
  //   the sum of their products by GemmPredictor::OfMeasured()
  // Absent where none of them is there. Errors: those of GroupedGemmModel::Of() and
  // GemmModel::Of().
  static absl::StatusOr<absl::optional<GroupedGemmPredictor>> OfMeasured(
      const MeasuredKernels& measured, ExpertsKind kind);

  // The forward pass of one device's share; of `shape` the gate is the kind's. Finite and positive
  // for sizes of 1 to 2^40. Allocates nothing.
  KernelTime Predict(const GroupedGemmShape& shape) const;

  const KernelSource& source() const { return source_; }

 private:
  GroupedGemmPredictor() = default;
  static absl::StatusOr<absl::optional<GroupedGemmPredictor>> OfOwn(const MeasuredKernels& measured,
                                                                    ExpertsKind kind);
  static absl::optional<GroupedGemmPredictor> OfReference(const Accelerator& accelerator,
                                                          ExpertsKind kind);
  static absl::optional<GroupedGemmPredictor> OfGemms(absl::optional<GemmPredictor> gemms,
                                                      const absl::optional<DeviceRoofs>& roofs,
                                                      ExpertsKind kind);
  KernelTime PredictByGemms(const GroupedGemmShape& shape) const;

  ExpertsKind kind_;
  KernelSource source_;
  std::shared_ptr<const GroupedGemmModel> own_ = nullptr;  // what `model_` points to, if ours
  const GroupedGemmModel* model_ = nullptr;                // null: by products
  bool like_type_ = false;                                 // the model is of a type like it
  bool whole_layer_ = false;  // the model's times hold more than products
  absl::optional<GemmPredictor> gemms_ = {};
  BytesPerSecond memory_ = {};
};

// A probe times the products of a layer alone. Published layers also choose experts, and permute
// and add up tokens, which a device may leave out: four passes over a row of h in bf16 are up to
// 0.22 of a published layer (90th percentile of the table where they are most; docs/kernels.md).
inline constexpr Widening kWholeLayerOfExperts{.low = 0.8, .high = 1};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_GROUPED_GEMM_PREDICTOR_H_
