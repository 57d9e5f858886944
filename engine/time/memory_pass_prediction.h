// The time of an operation without matrix products on a device.
#ifndef SEXTANT_ENGINE_TIME_MEMORY_PASS_PREDICTION_H_
#define SEXTANT_ENGINE_TIME_MEMORY_PASS_PREDICTION_H_

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/operation/analysis.h"
#include "engine/time/operation_prediction.h"

namespace sextant {

// Predicts an operation without matrix products: the sum of its kernels, each of which reads and
// writes its arrays once, in the types of `analysis`. With several devices, the forward time
// decides between them. Absent for other operations, for copies between host and device, and where
// one of the devices has neither passes nor a datasheet.
//
// Errors: those of StreamModel::Of(), where measurements are damaged.
absl::StatusOr<absl::optional<OperationPrediction>> PredictMemoryPasses(
    const Operation& operation, const OperationAnalysis& analysis,
    absl::Span<const PlacedDevice> devices, DeviceJoin join);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_MEMORY_PASS_PREDICTION_H_
