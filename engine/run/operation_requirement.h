// Whether what an operation's times stand on is as good as its request demands.
#ifndef SEXTANT_ENGINE_RUN_OPERATION_REQUIREMENT_H_
#define SEXTANT_ENGINE_RUN_OPERATION_REQUIREMENT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/rates.h"
#include "engine/run/operation_rates.h"

namespace sextant {

// OK, or kFailedPrecondition RATES_NOT_MEASURED with a PreconditionViolation where the device was
// measured too long ago, for each figure of the request's own among `used` that is weaker than
// device.requirement allows, and for the device where its own are. `device` is at `path`.
absl::Status CheckOperationRates(const OperationDevice& device, absl::Span<const Rate> used,
                                 absl::string_view path);

// The same of what a predicted time stands on.
absl::Status CheckPredictionSource(const OperationDevice& device, const KernelSource& source,
                                   absl::string_view path);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_OPERATION_REQUIREMENT_H_
