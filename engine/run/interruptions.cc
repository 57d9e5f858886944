#include "engine/run/interruptions.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "engine/run/formula.h"

namespace sextant {
namespace {

constexpr char kInterruptionsPath[] = "interruptions";
constexpr double kMaxFailures = 3600;   // a device and hour: one a second
constexpr double kMinFailures = 1e-12;  // one in 100 million years; times between are finite
constexpr double kMaxRestartSeconds = 30 * kSecondsPerDay;
constexpr double kMaxIntervalSeconds = 365 * kSecondsPerDay;

}  // namespace

void CheckInterruptions(const InterruptionSpec& spec, FieldViolations& violations) {
  const auto require = [&](absl::string_view name, absl::optional<double> value, double low,
                           double high) {
    if (value.has_value()) violations.RequireRange(kInterruptionsPath, name, *value, {low, high});
  };
  require("failures_per_device_hour", spec.failures_per_device_hour, 0, kMaxFailures);
  require("restart_duration", spec.restart_seconds, 0, kMaxRestartSeconds);
  require("checkpoint_interval", spec.checkpoint_interval_seconds, 1, kMaxIntervalSeconds);
  const double failures = spec.failures_per_device_hour.value_or(0);
  if (failures > 0 && failures < kMinFailures) {
    violations.Add(
        "interruptions.failures_per_device_hour",
        absl::StrFormat("is %.4g: write 0 for none, or at least %g", failures, kMinFailures));
  }
  const bool known = spec.checkpoint_write_bytes_per_second.has_value() ||
                     spec.device_write_bytes_per_second.has_value();
  if (spec.writes() && !known) {
    violations.Add("interruptions.checkpoint_write_bytes_per_second",
                   "is required, or device_write_bytes_per_second: how long a checkpoint takes "
                   "decides what failures cost");
  }
}

CheckpointPlan CheckpointOf(const ModelState& state, const WeightCount& parameters) {
  CheckpointPlan out;
  for (const StateTerm& term : state.terms) {
    if (term.is_gradient()) continue;
    const Bytes size = term.name == "weight" && parameters.trainable < parameters.total
                           ? Bytes(parameters.trainable * term.element_bytes)
                           : term.size;
    if (size == Bytes(0)) continue;
    out.terms.push_back({term.name, size});
    out.size = out.size + size;
  }
  return out;
}

Seconds YoungInterval(Seconds stall, Seconds between_failures) {
  return Seconds(formula::YoungInterval(stall.value(), between_failures.value()));
}

Seconds DalyInterval(Seconds stall, Seconds between_failures) {
  const double ratio = stall.value() / (2 * between_failures.value());
  if (ratio >= 1) return between_failures;
  return Seconds(formula::DalyInterval(stall.value(), between_failures.value(), ratio));
}

ElapsedShares ElapsedPerSecond(const Interruptions& in) {
  ElapsedShares out = {.stalls = in.stall_ratio};
  if (!in.interval.has_value()) return out;
  // Checkpoints are a distance of work apart, whatever the work is.
  const double work = out.steps + out.stalls;
  const double interval = in.interval->value();
  out.checkpoints = formula::CheckpointShare(work, in.stall.value(), interval);
  if (!in.between_failures.has_value()) return out;
  const double restart = (in.restart + in.write - in.stall).value();
  const double failed =
      formula::FailedShare(in.between_failures->value(), restart, interval, in.stall.value());
  // Rounding may leave less than nothing where failures are rare.
  out.failures = work * (failed < 0 ? 0 : failed);
  return out;
}

Seconds DeviationOfFailures(const Interruptions& in, Seconds elapsed) {
  if (!in.between_failures.has_value() || !in.interval.has_value()) return Seconds(0);
  const double lost = (*in.interval + in.stall).value();
  const double always = (in.restart + in.write - in.stall).value();
  const double square = lost * lost / 3 + lost * always + always * always;
  return Seconds(std::sqrt(elapsed.value() / in.between_failures->value() * square));
}

}  // namespace sextant
