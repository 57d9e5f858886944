#include "engine/time/predict_experts.h"

#include <algorithm>

#include "engine/base/status_macros.h"
#include "engine/hardware/predict/grouped_gemm_predictor.h"

namespace sextant {
namespace {

absl::StatusOr<absl::optional<GroupedGemmPredictor>> LayersOn(const PredictedDevice& device,
                                                              ExpertsKind kind) {
  if (device.measured != nullptr) return GroupedGemmPredictor::OfMeasured(*device.measured, kind);
  if (device.accelerator == nullptr) return absl::optional<GroupedGemmPredictor>();
  return GroupedGemmPredictor::OfAccelerator(*device.accelerator, kind);
}

KernelTime BackwardBy(const KernelTime& forward) {
  return {.expected = forward.expected * kExpertsBackwardOverForward,
          .low = forward.low * (kExpertsBackwardOverForward * kExpertsBackward.low),
          .high = forward.high * (kExpertsBackwardOverForward * kExpertsBackward.high),
          .basis = std::max(forward.basis, KernelBasis::kOtherPass)};
}

}  // namespace

GroupedGemmShape LayerShapeOf(const Experts& experts) {
  return {.tokens = experts.tokens,
          .hidden = experts.hidden_size,
          .intermediate = experts.feed_forward_size,
          .experts_per_token = experts.experts_per_token,
          .experts = experts.expert_count,
          .expert_parallel = experts.expert_parallel_size,
          .gated = experts.gated};
}

absl::StatusOr<absl::optional<OperationPrediction>> PredictExperts(const Experts& experts,
                                                                   DataType type,
                                                                   const PredictedDevice& device) {
  absl::optional<OperationPrediction> out;
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<GroupedGemmPredictor> layers,
                           LayersOn(device, {.type = type, .gated = experts.gated}));
  if (!layers.has_value()) return out;
  const KernelTime forward = layers->Predict(LayerShapeOf(experts));
  out = OperationPrediction{.forward = forward,
                            .backward = BackwardBy(forward),
                            .source = layers->source(),
                            .nearest = {}};
  return out;
}

}  // namespace sextant
