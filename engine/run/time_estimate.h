// Time, money and energy of a run by one rate.
#ifndef SEXTANT_ENGINE_RUN_TIME_ESTIMATE_H_
#define SEXTANT_ENGINE_RUN_TIME_ESTIMATE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/run/run_spec.h"
#include "engine/time/step_time.h"

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

// duration          = flops / (n x rate x utilisation)
// mfu               = utilisation x rate / peak
// hfu               = mfu x hardware FLOPs / model FLOPs
// measured_fraction = utilisation x rate / measured
// elapsed           = duration x elapsed_per_second
// device_hours      = n x elapsed / 3600
// cost              = device_hours x price
// energy            = n x (device + host power) x elapsed x PUE
//
// The duration is the definition of model FLOPs utilisation, solved for the time: Chowdhery et al.
// 2022 (arXiv 2204.02311) appendix B. Devices draw their power and cost their price all the time.
// Derivation: docs/plan.md, "Times of a run".
TimeEstimate TimeEstimateOf(const TimeInput& input);

// An estimate at `input` of a run that takes `duration`, which its rate comes from.
TimeEstimate TimeEstimateIn(const SecondsInterval& duration, TimeInput input);

// Sets the checks of `out` against the limits of `economics`.
void CheckLimits(const EconomicsSpec& economics, TimeEstimate& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_TIME_ESTIMATE_H_
