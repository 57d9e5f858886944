// The run around its steps: checkpoints, failures, data, limits, and what to report progress
// against.
#ifndef SEXTANT_ENGINE_RUN_WHOLE_RUN_H_
#define SEXTANT_ENGINE_RUN_WHOLE_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/memory/model_state.h"
#include "engine/run/interruptions.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/run_steps.h"
#include "engine/run/step_plan.h"
#include "engine/run/time_estimate.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The tokens' way to the devices.
struct DataLoading {
  int64_t bytes_per_token_id = 0;  // in a file
  Bytes token_file = Bytes(0);
  absl::optional<BytesPerSecond> read_rate = {};  // while the run trains
  absl::optional<Bytes> device_step = {};         // ids that a device gets for a step
  absl::optional<Seconds> device_copy = {};       // from pinned host memory; absent: no known link
};

// The cost of the slowest device.
struct SlowestCost {
  SlowestDevice device;
  std::string hostname = {};  // of its host; empty: unknown
  Seconds saved;
  absl::optional<Dollars> saved_cost = {};  // absent: no price
};

struct WholeRun {
  absl::optional<RunSteps> steps = {};  // absent without a global batch size
  Interruptions interruptions = {};
  ElapsedShares elapsed = {};  // for each second of steps
  CheckpointPlan checkpoint = {};
  absl::optional<DataLoading> data = {};  // absent without a vocabulary
  // By the estimate to plan by: absent without one.
  absl::optional<double> failure_count = {};  // also without failures
  absl::optional<SlowestCost> slowest = {};   // also where none is slower
  absl::optional<Seconds> time_limit = {};    // RecommendedTimeLimit() of the predicted time

  double goodput() const { return 1 / elapsed.all(); }
};

// The steps of a run, and the model state that they change.
struct PlannedSteps {
  const RunSpec& run;
  const ModelState& state;
  const StepAnswer& step;
  CallWork& work;
};

// Plans what surrounds `steps`, as far as it does not depend on estimates of the run's time.
// Appends the rate of the link to the host to resolved.rates where it is used.
//
// Errors: kInvalidArgument where the run would hardly make progress, or a checkpoint isn't written
// before the next; those of StepsOf().
absl::StatusOr<WholeRun> PlanWholeRun(const PlannedSteps& steps, ResolvedRun& resolved);

// Adds what depends on the time of `basis`, the estimate to plan by.
void AddTimes(const TimeEstimate& basis, WholeRun& whole);

// The bytes a second at which all devices together write; absent: no rate is given.
absl::optional<double> CheckpointWriteRate(const RunSpec& run);

// The wall-clock limit within which nine in ten runs of `estimate` end, in whole minutes: its high
// end, and that of the time that failures take, independent of it. Absent where it has no interval.
absl::optional<Seconds> RecommendedTimeLimit(const WholeRun& whole, const TimeEstimate& estimate);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_WHOLE_RUN_H_
