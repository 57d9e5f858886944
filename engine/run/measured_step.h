// One measured step of a run's own software, which calibrates predictions of layouts near it.
#ifndef SEXTANT_ENGINE_RUN_MEASURED_STEP_H_
#define SEXTANT_ENGINE_RUN_MEASURED_STEP_H_

#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "engine/run/run_spec.h"
#include "engine/run/step_plan.h"

namespace sextant {

// The number of doublings and halvings of parallel sizes and the micro-batch from one layout to
// the other, each counted:
//   sum of |log2 (one / other)| over tensor, pipeline, context, expert and data parallel size,
//   virtual stages and micro-batch size
double DistanceOf(const MemoryJob& one, const MemoryJob& other);

// The farthest layout that a measured step calibrates: of published runs, those up to here are
// predicted within 7 % by one of their neighbours (docs/accuracy-step-time.md).
inline constexpr double kNearLayout = 4;
// The 80 % interval of a calibrated step, each way, in ln(measured / predicted).
inline constexpr double kCalibratedEnd = 0.07;

// Plans the layout of `run`'s measured step, and writes to `answer` how its measured time compares.
// Where the run's own layout is near and recomputes as much, its step and all parts are multiplied
// by measured over predicted. Nothing without a measured step or a predicted one.
//
// Errors: kInvalidArgument, of the measured step's fields under "measured_step"; those of
// PlanStep().
absl::Status Calibrate(const RunSpec& run, const ResolvedRun& resolved, CallWork& work,
                       StepAnswer& answer);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MEASURED_STEP_H_
