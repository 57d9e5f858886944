#include "engine/operation/roofline.h"

#include <algorithm>
#include <cmath>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr double kMaxRate = 1e24;
constexpr double kMaxLaunchSeconds = 1;

absl::Status Check(const DeviceRates& rates) {
  const FieldViolations::RealRange positive = {.low = 0, .high = kMaxRate, .above_low = true};
  FieldViolations violations;
  violations.RequireRange("", "matrix_flops_per_second", rates.matrix.value(), positive);
  if (rates.general) {
    violations.RequireRange("", "general_flops_per_second", rates.general->value(), positive);
  }
  violations.RequireRange("", "memory_bytes_per_second", rates.memory.value(), positive);
  violations.RequireRange("", "launch_seconds", rates.launch.value(),
                          FieldViolations::RealRange{.low = 0, .high = kMaxLaunchSeconds});
  return violations.ToStatus();
}

struct Times {
  double compute = 0;
  double memory = 0;
};

Times TimesOf(const CostSum& sum, const DeviceRates& rates) {
  const FlopsPerSecond general = rates.general.value_or(rates.matrix);
  const Seconds compute = sum.matrix_flops / rates.matrix + sum.other_flops / general;
  return {.compute = compute.value(),
          .memory = static_cast<double>(sum.moved().value()) / rates.memory.value()};
}

// Divided by the larger first, so that no power overflows.
double SmoothMaximum(Times t) {
  const double larger = std::max(t.compute, t.memory);
  if (larger == 0) return 0;
  const double ratio = std::min(t.compute, t.memory) / larger;
  return larger * std::pow(1 + std::pow(ratio, kRooflineExponent), 1 / kRooflineExponent);
}

double RidgeOf(const CostSum& sum, double compute, const DeviceRates& rates) {
  const double rate = compute > 0 ? sum.flops().value() / compute : rates.matrix.value();
  return rate / rates.memory.value();
}

}  // namespace

absl::string_view RooflineMethodName(RooflineMethod method) {
  return method == RooflineMethod::kSmooth ? "smooth" : "classical";
}

absl::StatusOr<Roofline> RooflineOf(const OperationCost& cost, const DeviceRates& rates,
                                    RooflineMethod method) {
  SEXTANT_RETURN_IF_ERROR(Check(rates));
  double smooth = 0;
  double classical = 0;
  for (const StepCost& step : cost.steps) {
    const Times t = TimesOf(step.sum, rates);
    smooth += SmoothMaximum(t);
    classical += std::max(t.compute, t.memory);
  }
  const Times all = TimesOf(cost.sum, rates);
  Roofline out;
  out.intensity = cost.sum.intensity();
  out.compute = Seconds(all.compute);
  out.memory = Seconds(all.memory);
  out.bound = all.compute > all.memory ? RooflineBound::kCompute : RooflineBound::kMemory;
  out.ridge = RidgeOf(cost.sum, all.compute, rates);
  out.launch = rates.launch * static_cast<double>(cost.steps.size());
  out.classical = Seconds(classical) + out.launch;
  out.time = method == RooflineMethod::kSmooth ? Seconds(smooth) + out.launch : out.classical;
  if (out.time > Seconds(0)) out.fraction_of_peak = all.compute / out.time.value();
  return out;
}

}  // namespace sextant
