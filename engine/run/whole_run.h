// The run around its steps: checkpoints, failures and the time that they add, data, limits, what to
// report progress against; and its time, money and energy.
#ifndef SEXTANT_ENGINE_RUN_WHOLE_RUN_H_
#define SEXTANT_ENGINE_RUN_WHOLE_RUN_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/memory/model_state.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/run_steps.h"
#include "engine/run/step_plan.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The formulas of a plan's numbers. Each is a template and written once: with doubles it is the
// arithmetic of the plan; with Terms (engine/base/term.h) it is the same arithmetic and its text,
// so that a derivation evaluates what it shows.
namespace formula {

using std::exp;
using std::expm1;
using std::floor;
using std::sqrt;

// Times, money and energy of a run. The duration is the definition of model FLOPs utilisation,
// solved for the time: Chowdhery et al. 2022 (arXiv 2204.02311) appendix B. Devices draw their
// power and cost their price all the time. Derivation: docs/plan.md, "Times of a run".
auto Duration(auto flops, auto devices, auto rate, auto utilisation) {
  return flops / (devices * rate * utilisation);
}
auto Hfu(auto mfu, auto hardware_ratio) { return mfu * hardware_ratio; }
auto Elapsed(auto duration, auto elapsed_per_second) { return duration * elapsed_per_second; }
auto DeviceHours(auto devices, auto elapsed) { return devices * elapsed / kSecondsPerHour; }
auto TokensPerSecond(auto tokens, auto duration) { return tokens / duration; }
auto Cost(auto device_hours, auto price) { return device_hours * price; }
// `power` is a device's and its host's.
auto Energy(auto devices, auto power, auto elapsed, auto usage_effectiveness) {
  return devices * power * elapsed * usage_effectiveness;
}
auto Margin(auto limit, auto expected) { return limit - expected; }

// Failures and checkpoints. C: the stall of a checkpoint; M: the mean time between failures; t: the
// interval of work between checkpoints; r: from a failure until work goes on.
auto BetweenFailures(auto failures_per_device_hour, auto devices) {
  return kSecondsPerHour / (failures_per_device_hour * devices);
}
// Source: Young 1974, Communications of the ACM 17 (9), page 530.
auto YoungInterval(auto c, auto m) { return sqrt(2.0 * c * m); }
// `ratio` is C / 2M, below 1. Source: Daly 2006, Future Generation Computer Systems 22, page 303,
// equation 37; from memory, and checked against the least of ElapsedPerSecond() by test.
auto DalyInterval(auto c, auto m, auto ratio) {
  return YoungInterval(c, m) * (1.0 + sqrt(ratio) / 3.0 + ratio / 9.0) - c;
}
// `work` is the seconds of a second of steps, stalls included. Derivation of both: docs/plan.md,
// "The whole run".
auto CheckpointShare(auto work, auto c, auto t) { return work * c / t; }
// Without the sum's first terms, which cancel out.
auto FailedShare(auto m, auto r, auto t, auto c) {
  return m * (exp(r / m) * expm1((t + c) / m)) / t - 1.0 - c / t;
}
auto FailureCount(auto elapsed, auto m) { return elapsed / m; }
auto CheckpointCount(auto duration, auto stall_ratio, auto t) {
  return floor(duration * (1.0 + stall_ratio) / t);
}

}  // namespace formula

// The checkpoint that resumes a run.
struct CheckpointPlan : SavedState {
  absl::optional<Seconds> write = {};           // absent: no rate is given
  absl::optional<Seconds> young_interval = {};  // absent without failures, like the next
  absl::optional<Seconds> daly_interval = {};
  absl::optional<int64_t> count = {};       // in the expected run; absent where none is written
  Bytes resume_read = Bytes(0);             // by all devices together
  Bytes resume_read_per_device = Bytes(0);  // by the one that reads the most
  absl::optional<Seconds> resume = {};      // absent: no rate is given
};

// The training between two checkpoints that loses the least time, to first order, where training
// stands still for `stall` at each and fails once in `between_failures` on average:
// formula::YoungInterval().
Seconds YoungInterval(Seconds stall, Seconds between_failures);

// The same to higher order: formula::DalyInterval(), or M where C >= 2 M.
Seconds DalyInterval(Seconds stall, Seconds between_failures);

// The interruptions of a run. Seconds are those of its clock.
struct Interruptions {
  absl::optional<Seconds> between_failures = {};  // absent: it never fails
  absl::optional<Seconds> interval = {};          // of work; absent: no checkpoints
  Seconds write = {};                             // until a checkpoint can be used
  Seconds stall = {};                             // of that, in which training stands still
  Seconds restart = {};                           // reading included
  double stall_ratio = 0;                         // other seconds for each second of steps
};

// The seconds that a second of steps takes.
struct ElapsedShares {
  double steps = 1;
  double stalls = 0;
  double checkpoints = 0;
  double failures = 0;

  double all() const { return steps + stalls + checkpoints + failures; }
};

// Work of t and a checkpoint's stall c have to pass without a failure, else they are done again
// after a restart; failures of mean distance M are exponential, and may hit a restart, too:
//   elapsed = M e^(r / M) (e^((t + c) / M) - 1) / t    for each second of work
// where r is the restart and what a checkpoint still takes after its stall, until which the one
// before it counts. Derivation: docs/plan.md, "The whole run"; Daly 2006, section 4. Infinite where
// the numbers are too large.
ElapsedShares ElapsedPerSecond(const Interruptions& interruptions);

// The standard deviation of the time that failures add to a run that takes `elapsed` in all: their
// number has a Poisson distribution, each loses a part of an interval, uniformly.
// Derivation: docs/plan.md, "The whole run".
Seconds DeviationOfFailures(const Interruptions& interruptions, Seconds elapsed);

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

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_WHOLE_RUN_H_
