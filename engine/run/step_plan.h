// The time of a run's step, and the operations of its stages.
#ifndef SEXTANT_ENGINE_RUN_STEP_PLAN_H_
#define SEXTANT_ENGINE_RUN_STEP_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/note.h"
#include "engine/framework/software_stack.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/step_predictor.h"
#include "engine/time/stage_compute.h"
#include "engine/time/step_time.h"

namespace sextant {

// The operations of the device that takes longest.
struct ComputeEstimate {
  std::vector<StageCompute> stages = {};  // in their order
  std::vector<KernelSource> sources = {};
};

// The operations of StepPlan::longest_operations.
inline constexpr size_t kLongestOperations = 10;

// The most operations of an answer, all stages together: as many as a ledger's rows.
inline constexpr size_t kMaxOperations = 10'000;

// A measured step and its prediction.
struct StepCalibration {
  double ratio = 1;        // measured over predicted
  Seconds predicted = {};  // for its own layout
  double distance = 0;     // DistanceOf() the run's layout
  double factor = 1;       // of the run's step: the ratio as far as it holds there
  bool applied = false;    // it holds there at all
};

// Step time saved by replacing the slowest device, for which all others wait, with the next
// slowest.
struct SlowestDevice {
  std::string uuid;
  double saved_share = 0;  // of the run's time, above 0
};

// The time of one step.
struct StepPlan {
  StepEstimate estimate = {};
  absl::optional<SlowestDevice> slowest = {};  // absent: fewer than two, or two are equally slow
  absl::optional<StepCalibration> calibration = {};
  SoftwareConstants software = {};
  int64_t token_count = 0;  // of a step, on all devices
  // Those of the stage whose micro-batches compute longest; in a full answer.
  std::vector<LongOperation> longest_operations = {};
  std::vector<KernelTimeShare> kernel_sources = {};  // of that stage
};

struct StepAnswer {
  absl::optional<StepPlan> step = {};            // absent: a note says why
  absl::optional<ComputeEstimate> compute = {};  // where options.include_operations asks for it
  Notes notes = {};
  // Null where no step is predicted. The run and its resolved form outlive it.
  std::unique_ptr<const StepPredictor> predictor = nullptr;
};

// The step of `run`, whose layout's memory was counted; nothing without a layout.
//
// Errors: those of `work` and of damaged measurements; kInvalidArgument
// "options.include_operations" beyond kMaxOperations.
absl::StatusOr<StepAnswer> PlanStep(const RunSpec& run, const ResolvedRun& resolved,
                                    CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_STEP_PLAN_H_
