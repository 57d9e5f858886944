// The run around its steps: checkpoints, failures, data, limits, what to report progress against;
// and its time, money and energy.
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
#include "engine/tensor/data_type.h"

namespace sextant {

// The utilisation of the textbook estimate where the request gives none.
//
// Of 133 published bf16 runs of dense models that state an MFU, the median is 0.53 and one
// in ten lies below 0.39; those are tuned benchmarks, so the default is near their low end.
// Source: tests/golden/assumed_mfu_test.py computes both figures from the published runs.
inline constexpr double kAssumedMfu = 0.4;
inline constexpr char kAssumedMfuSource[] =
    "near the low end of published dense bf16 runs (median 0.53, tenth percentile 0.39)";

// How a time was computed.
enum class EstimateKind { kLowerBound, kTextbook, kMeasuredBound, kPredicted };

// "lower_bound", "textbook", "measured_bound", "predicted".
absl::string_view EstimateKindName(EstimateKind kind);

// Where an estimate's MFU comes from.
enum class MfuBasis { kFullPeak, kRequest, kAssumed, kMeasuredRate, kPredicted };

struct TimeInput {
  EstimateKind kind = EstimateKind::kLowerBound;
  MfuBasis mfu_basis = MfuBasis::kFullPeak;
  Flops flops;
  FlopsPerSecond rate;                           // of one device: peak or measured
  double utilisation = 1;                        // of that rate
  absl::optional<FlopsPerSecond> peak = {};      // absent: mfu is not known
  absl::optional<FlopsPerSecond> measured = {};  // absent: measured_fraction is not known
  int64_t device_count = 1;
  int64_t token_count = 1;
  absl::optional<double> hardware_ratio = {};  // hardware FLOPs per model FLOP
  absl::optional<double> device_hour_price_usd = {};
  absl::optional<Watts> device_power = {};  // absent: energy is not known
  Watts host_power_per_device;
  double power_usage_effectiveness = 1;
  double elapsed_per_second = 1;  // of steps: ElapsedShares::all()
};

// An estimate against its limit.
struct LimitCheck {
  bool met = false;
  double margin = 0;                   // the limit less what is expected
  absl::optional<double> chance = {};  // absent where the estimate has no interval
};

// Time, money and energy of a whole run.
struct TimeEstimate {
  EstimateKind kind = EstimateKind::kLowerBound;
  MfuBasis mfu_basis = MfuBasis::kFullPeak;
  absl::optional<double> mfu = {};  // above 1 where the measured rate exceeds the peak
  absl::optional<double> hfu = {};
  absl::optional<double> measured_fraction = {};
  Seconds duration;  // of all steps
  // The ends of an 80 % interval; both `duration` where there is none.
  Seconds low;
  Seconds high;
  Seconds elapsed;  // from the run's start to its end, its interval below
  Seconds elapsed_low;
  Seconds elapsed_high;
  double device_hours = 0;
  double tokens_per_second = 0;
  absl::optional<Dollars> cost = {};
  absl::optional<Joules> energy = {};
  absl::optional<LimitCheck> deadline = {};  // absent: none was given
  absl::optional<LimitCheck> budget = {};
};

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

// The estimate at the rate of `input`, by the formulas of formula.h; MFU and measured_fraction are
// utilisation x rate over the peak and over the measured rate.
TimeEstimate TimeEstimateOf(const TimeInput& input);

// An estimate at `input` of a run that takes `duration`, which its rate comes from.
TimeEstimate TimeEstimateIn(const SecondsInterval& duration, TimeInput input);

// Sets the checks of `out` against the limits of `economics`.
void CheckLimits(const EconomicsSpec& economics, TimeEstimate& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_WHOLE_RUN_H_
