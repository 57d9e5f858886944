// One measured step of a run's own software, which calibrates predictions of layouts near it.
#ifndef SEXTANT_ENGINE_RUN_MEASURED_STEP_H_
#define SEXTANT_ENGINE_RUN_MEASURED_STEP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

// The measured step of a run, and what it was predicted to take.
class MeasuredRatio {
 public:
  // Plans the layout of `run`'s measured step.
  //
  // Errors: kInvalidArgument, of the measured step's fields under "measured_step"; those of
  // PlanStep().
  static absl::StatusOr<MeasuredRatio> Of(const RunSpec& run, CallWork& work);

  // How it compares with a layout of `run`, whose job is `job`: it applies where that is near and
  // recomputes as much.
  StepCalibration For(const RunSpec& run, const MemoryJob& job) const;

 private:
  MemoryJob job_;
  RecomputePolicy recompute_ = RecomputePolicy::kNone;
  Seconds predicted_ = {};
  double ratio_ = 1;
};

// Multiplies the step and all its parts by measured over predicted, where that applies.
void Apply(const StepCalibration& found, StepEstimate& step);

// Writes to `answer` how the measured step of `run` compares, and applies it. Nothing without a
// measured step or a predicted one. Errors: MeasuredRatio::Of()'s.
absl::Status Calibrate(const RunSpec& run, const ResolvedRun& resolved, CallWork& work,
                       StepAnswer& answer);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MEASURED_STEP_H_
