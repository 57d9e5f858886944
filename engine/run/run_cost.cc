#include "engine/run/run_cost.h"

#include "engine/time/compute_time.h"

namespace sextant {
namespace {

// The rate reached, as a share of `whole`. In this order, so that the whole rate is exactly 1.
absl::optional<double> ShareOf(absl::optional<FlopsPerSecond> whole, const RunCostInput& in) {
  if (!whole.has_value()) return absl::nullopt;
  return in.utilisation * (in.rate.value() / whole->value());
}

}  // namespace

RunCost RunCostOf(const RunCostInput& in) {
  const double devices = static_cast<double>(in.device_count);
  RunCost out;
  out.mfu = ShareOf(in.peak, in);
  out.mfu_basis = in.mfu_basis;
  if (out.mfu.has_value() && in.hardware_ratio.has_value()) out.hfu = *out.mfu * *in.hardware_ratio;
  out.measured_fraction = ShareOf(in.measured, in);
  out.duration = ComputeTime({.flops = in.flops,
                              .rate = in.rate,
                              .device_count = in.device_count,
                              .utilisation = in.utilisation});
  out.device_hours = devices * out.duration.value() / kSecondsPerHour;
  out.tokens_per_second = static_cast<double>(in.token_count) / out.duration.value();
  if (in.device_hour_price_usd.has_value()) {
    out.cost = Dollars(out.device_hours * *in.device_hour_price_usd);
  }
  if (in.device_power.has_value()) {
    const Watts power = (*in.device_power + in.host_power_per_device) * devices;
    out.energy = power * out.duration * in.power_usage_effectiveness;
  }
  return out;
}

}  // namespace sextant
