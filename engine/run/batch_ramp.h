// The steps of a run whose batch grows while it trains.
#ifndef SEXTANT_ENGINE_RUN_BATCH_RAMP_H_
#define SEXTANT_ENGINE_RUN_BATCH_RAMP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/step_plan.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// The most phases of a ramp.
inline constexpr size_t kMaxBatchPhases = 64;

// Appends to `violations` the errors of `run`'s ramp, except batches that don't suit the layout.
void CheckBatchRamp(const RunSpec& run, FieldViolations& violations);

// Steps of one batch.
struct PhaseSteps {
  int64_t token_count = 0;
  int64_t step_tokens = 0;
  Seconds step = {};  // 0 where it is not predicted
};

// All steps of a run.
struct RunSteps {
  std::vector<PhaseSteps> phases = {};
  int64_t count = 0;                              // the last of each phase may be smaller
  absl::optional<SecondsInterval> duration = {};  // absent where a step is not predicted
};

// The steps of `run`, which has a global batch size and whose last phase has `step`. The duration
// is that of tokens / (global batch x sequence length) steps of each phase. Stages are timed once
// for all of them.
//
// Errors: kInvalidArgument "layout.batch_ramp[i].global_batch_size" for a batch that the layout
// can't divide; those of PlanStep().
absl::StatusOr<RunSteps> StepsOf(const RunSpec& run, const ResolvedRun& resolved,
                                 const absl::optional<StepPlan>& step, CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_BATCH_RAMP_H_
