// Time, money and energy of a whole run at one utilisation.
#ifndef SEXTANT_ENGINE_RUN_RUN_COST_H_
#define SEXTANT_ENGINE_RUN_RUN_COST_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "engine/base/units.h"

namespace sextant {

struct RunCostInput {
  Flops flops;
  FlopsPerSecond rate;     // of one device: its peak, or what was measured of it
  double utilisation = 1;  // of that rate
  std::string mfu_basis;
  absl::optional<FlopsPerSecond> peak = {};      // absent: mfu is not known
  absl::optional<FlopsPerSecond> measured = {};  // absent: measured_fraction is not known
  int64_t device_count = 1;
  int64_t token_count = 1;
  absl::optional<double> hardware_ratio = {};  // what is computed for each of `flops`
  absl::optional<double> device_hour_price_usd = {};
  absl::optional<Watts> device_power = {};  // absent: energy is not known
  Watts host_power_per_device;
  double power_usage_effectiveness = 1;
};

struct RunCost {
  absl::optional<double> mfu = {};  // above 1 where what was measured exceeds the peak
  std::string mfu_basis;
  absl::optional<double> hfu = {};
  absl::optional<double> measured_fraction = {};
  Seconds duration;
  double device_hours = 0;
  double tokens_per_second = 0;
  absl::optional<Dollars> cost = {};
  absl::optional<Joules> energy = {};

  double duration_days() const { return duration.value() / kSecondsPerDay; }
};

// duration          = flops / (n x rate x utilisation)
// mfu               = utilisation x rate / peak
// hfu               = mfu x hardware FLOPs / model FLOPs
// measured_fraction = utilisation x rate / measured
// device_hours      = n x duration / 3600
// cost              = device_hours x price
// energy            = n x (device + host power) x duration x PUE
//
// Failures, restarts, stalls and evaluation are left out. Derivation: docs/run.md.
RunCost RunCostOf(const RunCostInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_COST_H_
