// Predicted times of kernels for people.
#ifndef SEXTANT_CLIENT_PREDICTION_TEXT_H_
#define SEXTANT_CLIENT_PREDICTION_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/operation_device.pb.h"

namespace sextant {

// "109.91 us predicted, 74.55 us to 177.19 us (80 %)", of the forward pass; "" where nothing was
// predicted.
std::string PredictionSummary(const v1::OperationTime& time);

// A section "Predicted": times with their intervals, what they stand on, the nearest measured
// shapes; "" where nothing was predicted. `now` is for the age of a measurement.
std::string PredictionSection(const v1::OperationTime& time, absl::Time now);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PREDICTION_TEXT_H_
