// What a layer of experts takes on a device.
#ifndef SEXTANT_ENGINE_TIME_PREDICT_EXPERTS_H_
#define SEXTANT_ENGINE_TIME_PREDICT_EXPERTS_H_

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/grouped_gemm_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/time/operation_prediction.h"

namespace sextant {

// A backward pass was measured by nobody. Each product has two gradients of as many FLOPs, and what
// lies between is small beside them: twice the forward pass. Factors on the interval, not measured,
// stated: GemmFallbacks::kOtherPass, and as much again for weights' gradients, whose sums are as
// long as an expert has rows.
inline constexpr double kExpertsBackwardOverForward = 2;
inline constexpr Widening kExpertsBackward{.low = 0.8, .high = 1.45};

// What a device's kernels see of the layer.
GroupedGemmShape LayerShapeOf(const Experts& experts);

// Absent where nothing is known of `device` in `type`.
//
// Errors: those of GroupedGemmPredictor::OfMeasured().
absl::StatusOr<absl::optional<OperationPrediction>> PredictExperts(const Experts& experts,
                                                                   DataType type,
                                                                   const PredictedDevice& device);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PREDICT_EXPERTS_H_
