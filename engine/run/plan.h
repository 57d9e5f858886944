// Plans one run.
#ifndef SEXTANT_ENGINE_RUN_PLAN_H_
#define SEXTANT_ENGINE_RUN_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/run/planned_run.h"
#include "engine/run/run_spec.h"

namespace sextant {

// The steps of CallWork that one plan may take, about 100 ms: docs/benchmarks.md, "The most
// expensive plans".
inline constexpr int64_t kMaxPlanSteps = 10'000'000;

// Plans `run`. Pure: the same run gives the same plan. `found` are violations that the caller has
// already found (a wire format adds its own); they are reported together with the engine's.
//
// Errors:
//   kInvalidArgument FIELD_INVALID   every invalid field, unknown names among others
//   kNotFound MODEL_UNKNOWN          only the preset's name is invalid
//   kNotFound GPU_UNKNOWN            only the accelerator's name is invalid
//   kNotFound DEVICE_UNKNOWN         only the name of one device of this host is invalid
//   kFailedPrecondition RATES_NOT_MEASURED   a rate that the run needs, or demands, is missing
// Beyond kMaxPlanSteps, on many devices or in many phases: kInvalidArgument of these.
absl::StatusOr<Plan> PlanRun(const RunSpec& run, FieldViolations found = {});
// The same, counted as `work`. Errors: also CallWork's.
absl::StatusOr<Plan> PlanRun(const RunSpec& run, FieldViolations found, CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_PLAN_H_
