// The steps of a run: as one measured step of its own software calibrates the prediction, and those
// of a batch that grows while it trains.
#ifndef SEXTANT_ENGINE_RUN_RUN_STEPS_H_
#define SEXTANT_ENGINE_RUN_RUN_STEPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/units.h"
#include "engine/run/resolve.h"
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
  // Plans the layout of `run`'s measured step. `resolved` is `run`.
  //
  // Errors: kInvalidArgument, of the measured step's fields under "measured_step", its seconds
  // among them where the devices can't be so fast; those of PlanStep().
  static absl::StatusOr<MeasuredRatio> Of(const RunSpec& run, const ResolvedRun& resolved,
                                          CallWork& work);

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

// The steps of `run`, which has a global batch size and whose last phase has the step of `answer`.
// The duration is that of tokens / (global batch x sequence length) steps of each phase. Stages are
// timed once for all of them.
//
// Errors: kInvalidArgument "layout.batch_ramp[i].global_batch_size" for a batch that the layout
// can't divide; those of PlanStep().
absl::StatusOr<RunSteps> StepsOf(const RunSpec& run, const ResolvedRun& resolved,
                                 const StepAnswer& answer, CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_STEPS_H_
