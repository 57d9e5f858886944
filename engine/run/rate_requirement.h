// Whether a run's rates were measured, and are as good as it demands.
#ifndef SEXTANT_ENGINE_RUN_RATE_REQUIREMENT_H_
#define SEXTANT_ENGINE_RUN_RATE_REQUIREMENT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Appends what is wrong with `requirement`, which stands at `path`.
void CheckRequirement(const RateRequirement& requirement, absl::string_view path,
                      FieldViolations& violations);

// OK, or kFailedPrecondition RATES_NOT_MEASURED with a PreconditionViolation for each device
// that was never measured, not in the run's compute data type, or too long ago, and for a rate
// whose source is worse than run.rate_requirement allows. `resolved` has its devices and rates.
absl::Status CheckRates(const RunSpec& run, const ResolvedRun& resolved);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RATE_REQUIREMENT_H_
