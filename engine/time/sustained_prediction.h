// What an operation takes in a run of hours, beside what it takes in a burst.
#ifndef SEXTANT_ENGINE_TIME_SUSTAINED_PREDICTION_H_
#define SEXTANT_ENGINE_TIME_SUSTAINED_PREDICTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "engine/time/operation_prediction.h"

namespace sextant {

// Makes `prediction`, of bursts on `device` in `type`, one of sustained rates, and says in a
// sentence how. Products and attention take longer by DeratingOfMeasured(); the low end stays that
// of a burst, since a kernel that memory bounds slows down less. Passes over memory take as long:
// power lowers the units' clock, not the memory's.
absl::StatusOr<std::string> MakeSustained(const PredictedDevice& device, DataType type,
                                          OperationPrediction& prediction);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_SUSTAINED_PREDICTION_H_
