#include "engine/run/time_estimate.h"

#include "engine/run/memory_estimate.h"

namespace sextant {
namespace {

// The achieved rate as a share of `whole`. The order of operations makes the full rate exactly 1.
absl::optional<double> ShareOf(absl::optional<FlopsPerSecond> whole, const TimeInput& in) {
  if (!whole.has_value()) return absl::nullopt;
  return in.utilisation * (in.rate.value() / whole->value());
}

void SetDuration(const SecondsInterval& duration, double elapsed_per_second, TimeEstimate& out) {
  out.duration = duration.expected;
  out.low = duration.low;
  out.high = duration.high;
  out.elapsed = duration.expected * elapsed_per_second;
  out.elapsed_low = duration.low * elapsed_per_second;
  out.elapsed_high = duration.high * elapsed_per_second;
}

LimitCheck CheckOf(const FigureInterval& figure, double limit) {
  LimitCheck out = {.met = figure.expected <= limit, .margin = limit - figure.expected};
  if (figure.low < figure.high) out.chance = ChanceAtMost(figure, limit);
  return out;
}

}  // namespace

absl::string_view EstimateKindName(EstimateKind kind) {
  constexpr absl::string_view kNames[] = {"lower_bound", "textbook", "measured_bound", "predicted"};
  return kNames[static_cast<size_t>(kind)];
}

TimeEstimate TimeEstimateOf(const TimeInput& in) {
  const double devices = static_cast<double>(in.device_count);
  TimeEstimate out;
  out.kind = in.kind;
  out.mfu_basis = in.mfu_basis;
  out.mfu = ShareOf(in.peak, in);
  if (out.mfu.has_value() && in.hardware_ratio.has_value()) out.hfu = *out.mfu * *in.hardware_ratio;
  out.measured_fraction = ShareOf(in.measured, in);
  out.duration = in.flops / FlopsPerSecond(in.rate.value() * devices * in.utilisation);
  SetDuration({out.duration, out.duration, out.duration}, in.elapsed_per_second, out);
  out.device_hours = devices * out.elapsed.value() / kSecondsPerHour;
  out.tokens_per_second = static_cast<double>(in.token_count) / out.duration.value();
  if (in.device_hour_price_usd.has_value()) {
    out.cost = Dollars(out.device_hours * *in.device_hour_price_usd);
  }
  if (in.device_power.has_value()) {
    const Watts power = (*in.device_power + in.host_power_per_device) * devices;
    out.energy = power * out.elapsed * in.power_usage_effectiveness;
  }
  return out;
}

TimeEstimate TimeEstimateIn(const SecondsInterval& duration, TimeInput input) {
  const double devices = static_cast<double>(input.device_count);
  input.rate = FlopsPerSecond(input.flops.value() / (duration.expected.value() * devices));
  TimeEstimate out = TimeEstimateOf(input);
  SetDuration(duration, input.elapsed_per_second, out);
  return out;
}

void CheckLimits(const EconomicsSpec& economics, TimeEstimate& out) {
  const FigureInterval elapsed = {out.elapsed_low.value(), out.elapsed.value(),
                                  out.elapsed_high.value()};
  if (economics.seconds_to_deadline.has_value()) {
    out.deadline = CheckOf(elapsed, *economics.seconds_to_deadline);
  }
  if (economics.budget_usd.has_value() && out.cost.has_value()) {
    const double cost = out.cost->value();
    const double rate = cost / elapsed.expected;
    out.budget = CheckOf({elapsed.low * rate, cost, elapsed.high * rate}, *economics.budget_usd);
  }
}

}  // namespace sextant
