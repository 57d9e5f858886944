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

// The estimate at the rate of `input`, by the formulas of whole_run.h; MFU and measured_fraction
// are utilisation x rate over the peak and over the measured rate.
TimeEstimate TimeEstimateOf(const TimeInput& input);

// An estimate at `input` of a run that takes `duration`, which its rate comes from.
TimeEstimate TimeEstimateIn(const SecondsInterval& duration, TimeInput input);

// Sets the checks of `out` against the limits of `economics`.
void CheckLimits(const EconomicsSpec& economics, TimeEstimate& out);

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
// The same, counted as `work`. `known`: see Resolve(). Errors: also CallWork's.
absl::StatusOr<Plan> PlanRun(const RunSpec& run, FieldViolations found, CallWork& work,
                             const KnownParts& known = {});

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_PLAN_H_
