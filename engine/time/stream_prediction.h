// What an operation without products of matrices takes on a device.
#ifndef SEXTANT_ENGINE_TIME_STREAM_PREDICTION_H_
#define SEXTANT_ENGINE_TIME_STREAM_PREDICTION_H_

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/operation/analysis.h"
#include "engine/time/operation_prediction.h"

namespace sextant {

// Of an operation none of whose kernels multiplies matrices: the sum of its kernels, each reading
// and writing its arrays once, in the types that `analysis` has. Of several devices that whose
// forward pass decides. Absent of other operations, of copies between host and device, and where
// one of the devices has neither passes nor a datasheet.
//
// Errors: those of StreamModel::Of(), where what was measured is damaged.
absl::StatusOr<absl::optional<OperationPrediction>> PredictStreams(
    const Operation& operation, const OperationAnalysis& analysis,
    absl::Span<const PredictedDevice> devices, DeviceJoin join);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STREAM_PREDICTION_H_
