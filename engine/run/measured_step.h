// One measured step of a run's own software, which calibrates predictions of other layouts.
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
// and 2 each where they recompute or compute attention otherwise.
double DistanceOf(const MemoryJob& one, const MemoryJob& other);

// The share of one layout's error, in ln(measured / predicted), that another one has, too:
// 1 - distance / 16. A round number, chosen in sight of published runs: docs/accuracy_step_time.md,
// "A step measured on another layout".
double ErrorSharedAt(double distance);

// Up to here the 80 % interval of a calibrated step is this, each way, in ln(measured / predicted).
// Beyond, it is that of its StepClass.
inline constexpr double kNearLayout = 2;
inline constexpr double kCalibratedEnd = 0.07;

// The measured step of a run, and what it was predicted to take.
class MeasuredRatio {
 public:
  // Plans the layout of `run`'s measured step.
  //
  // Errors: kInvalidArgument, of the measured step's fields under "measured_step", its seconds
  // among them where the devices can't be so fast; those of PlanStep().
  static absl::StatusOr<MeasuredRatio> Of(const RunSpec& run, CallWork& work);

  // How it compares with the layout of `job`. It says nothing of layouts that keep state elsewhere,
  // or exchange other tensors among context parallel ranks.
  StepCalibration For(const MemoryJob& job) const;

 private:
  MemoryJob job_;
  Seconds predicted_ = {};
  double ratio_ = 1;
};

// Multiplies the step and all its parts.
void Apply(const StepCalibration& found, StepEstimate& step);

// Writes to `answer` how the measured step of `run` compares, and applies it. Nothing without a
// measured step or a predicted one. Errors: MeasuredRatio::Of()'s; kInvalidArgument
// "measured_step.seconds" where the run's step would be shorter than the devices can be.
absl::Status Calibrate(const RunSpec& run, const ResolvedRun& resolved, CallWork& work,
                       StepAnswer& answer);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MEASURED_STEP_H_
