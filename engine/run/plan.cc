#include "engine/run/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/run/job.h"
#include "engine/run/memory_estimate.h"
#include "engine/run/resolve.h"
#include "engine/run/run_steps.h"

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
  out.elapsed = formula::Elapsed(duration.expected, elapsed_per_second);
  out.elapsed_low = formula::Elapsed(duration.low, elapsed_per_second);
  out.elapsed_high = formula::Elapsed(duration.high, elapsed_per_second);
}

LimitCheck CheckOf(const Interval<double>& figure, double limit) {
  LimitCheck out = {.met = figure.expected <= limit,
                    .margin = formula::Margin(limit, figure.expected)};
  if (figure.low < figure.high) out.chance = ChanceAtMost(figure, limit);
  return out;
}

absl::Status PlanMemory(const RunSpec& run, const ResolvedRun& resolved, CallWork& work,
                        Plan& plan) {
  SEXTANT_ASSIGN_OR_RETURN(plan.state, ModelStateOf(plan.parameters.all, plan.tensors(),
                                                    resolved.precision, run.training.optimizer));
  if (run.training.activation_bytes.has_value()) {
    plan.activations = Bytes(*run.training.activation_bytes);
  }
  plan.capacity = resolved.capacity;
  plan.fit = FitOf({.model_state = plan.state.total,
                    .activations = plan.activations.value_or(Bytes(0)),
                    .usable_per_device = plan.capacity.usable(),
                    .device_count = run.cluster.device_count,
                    .parameter_count = plan.parameters.all.total});
  if (!resolved.memory.has_value()) return absl::OkStatus();
  const JobContext context = resolved.context_of(run);
  SEXTANT_ASSIGN_OR_RETURN(plan.memory_estimate,
                           EstimateMemory({.context = context,
                                           .choice = ChoiceOf(run),
                                           .model = *resolved.memory,
                                           .limits = {.usable = plan.capacity.usable(),
                                                      .thresholds = run.options.thresholds,
                                                      .server = resolved.server},
                                           .include_ledger = run.options.include_ledger,
                                           .work = work}));
  return absl::OkStatus();
}

// The inputs that the estimates at all rates share.
TimeInput InputOf(const RunSpec& run, const ResolvedRun& resolved, const Plan& plan) {
  TimeInput out = {
      .flops = plan.flops.used().run,
      .rate = {},
      .peak = resolved.peak,
      .device_count = run.cluster.device_count,
      .token_count = run.training.token_count,
      .device_hour_price_usd = run.economics.device_hour_price_usd,
      .device_power = resolved.device_power,
      .host_power_per_device = Watts(run.economics.host_power_watts_per_device.value_or(0)),
      .power_usage_effectiveness = run.economics.power_usage_effectiveness.value_or(1),
      .elapsed_per_second = plan.whole_run.elapsed.all(),
  };
  if (plan.flops.hardware.has_value()) out.hardware_ratio = plan.flops.hardware->ratio();
  if (resolved.measured.has_value()) out.measured = resolved.measured->matmul->rate;
  return out;
}

// The run at the step's predicted time.
void AddPredicted(TimeInput input, Plan& plan) {
  if (!plan.step.has_value()) return;
  input.kind = EstimateKind::kPredicted;
  input.mfu_basis = MfuBasis::kPredicted;
  plan.estimates.push_back(TimeEstimateIn(*plan.whole_run.steps->duration, input));
}

void PlanTime(const RunSpec& run, const ResolvedRun& resolved, Plan& plan) {
  TimeInput input = InputOf(run, resolved, plan);
  AddPredicted(input, plan);
  const auto add = [&](EstimateKind kind, MfuBasis basis, FlopsPerSecond rate, double share) {
    input.kind = kind;
    input.mfu_basis = basis;
    input.rate = rate;
    input.utilisation = share;
    plan.estimates.push_back(TimeEstimateOf(input));
  };
  // At full rate everything computed runs at that rate, recomputation included.
  const double full = 1 / input.hardware_ratio.value_or(1);
  if (resolved.peak.has_value()) {
    const absl::optional<double> mfu = run.options.assumed_mfu;
    add(EstimateKind::kLowerBound, MfuBasis::kFullPeak, *resolved.peak, full);
    add(EstimateKind::kTextbook, mfu.has_value() ? MfuBasis::kRequest : MfuBasis::kAssumed,
        *resolved.peak, mfu.value_or(kAssumedMfu));
  }
  if (input.measured.has_value()) {
    add(EstimateKind::kMeasuredBound, MfuBasis::kMeasuredRate, *input.measured, full);
  }
  for (TimeEstimate& estimate : plan.estimates) CheckLimits(run.economics, estimate);
  if (const TimeEstimate* const basis = BasisOf(plan)) {
    AddTimes(*basis, plan.whole_run);
  } else {
    plan.whole_run.slowest.reset();
  }
}

// A prediction at more than a given peak shows that the peak is none.
absl::Status CheckPeak(const RunSpec& run, const Plan& plan) {
  const TimeEstimate* const predicted = plan.estimate(EstimateKind::kPredicted);
  if (!run.cluster.peak_flops_per_second.has_value() || predicted == nullptr) {
    return absl::OkStatus();
  }
  const double hfu = std::max(*predicted->mfu, predicted->hfu.value_or(0));
  if (hfu <= 1) return absl::OkStatus();
  const double peak = *run.cluster.peak_flops_per_second;
  return InvalidField("cluster.peak_flops_per_second",
                      absl::StrFormat("is %.4g, an HFU of %.4g: the run's kernels are known to "
                                      "compute at %.4g FLOP/s; give the dense peak, which is at "
                                      "least that, or leave it out",
                                      peak, hfu, hfu * peak));
}

}  // namespace

TimeEstimate TimeEstimateOf(const TimeInput& in) {
  const double devices = static_cast<double>(in.device_count);
  TimeEstimate out;
  out.kind = in.kind;
  out.mfu_basis = in.mfu_basis;
  out.mfu = ShareOf(in.peak, in);
  if (out.mfu.has_value() && in.hardware_ratio.has_value()) {
    out.hfu = formula::Hfu(*out.mfu, *in.hardware_ratio);
  }
  out.measured_fraction = ShareOf(in.measured, in);
  out.duration =
      Seconds(formula::Duration(in.flops.value(), devices, in.rate.value(), in.utilisation));
  SetDuration({out.duration, out.duration, out.duration}, in.elapsed_per_second, out);
  out.device_hours = formula::DeviceHours(devices, out.elapsed.value());
  out.tokens_per_second =
      formula::TokensPerSecond(static_cast<double>(in.token_count), out.duration.value());
  if (in.device_hour_price_usd.has_value()) {
    out.cost = Dollars(formula::Cost(out.device_hours, *in.device_hour_price_usd));
  }
  if (in.device_power.has_value()) {
    const Watts power = *in.device_power + in.host_power_per_device;
    out.energy = Joules(
        formula::Energy(devices, power.value(), out.elapsed.value(), in.power_usage_effectiveness));
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
  const Interval<double> elapsed = {out.elapsed_low.value(), out.elapsed.value(),
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

absl::StatusOr<Plan> PlanRun(const RunSpec& run, FieldViolations found) {
  CallWork unstopped;
  return PlanRun(run, std::move(found), unstopped);
}

absl::StatusOr<Plan> PlanRun(const RunSpec& run, FieldViolations found, CallWork& work,
                             const KnownParts& known) {
  const CallWork::Allowance allowance(work, kMaxPlanSteps);
  SEXTANT_RETURN_IF_ERROR(work.Spend(1));
  SEXTANT_ASSIGN_OR_RETURN(ResolvedRun resolved, Resolve(run, std::move(found), work, known));
  Plan plan;
  plan.model_name = resolved.model_name;
  plan.device = resolved.device_name;
  plan.device_count = run.cluster.device_count;
  plan.token_count = run.training.token_count;
  plan.parameters = resolved.parameters;
  plan.model = resolved.shape.checked;
  plan.compute_data_type = resolved.precision.compute_data_type;
  plan.peak = resolved.peak;
  SEXTANT_RETURN_IF_ERROR(PlanMemory(run, resolved, work, plan));
  SEXTANT_ASSIGN_OR_RETURN(StepAnswer step, PlanStep(run, resolved, work));
  SEXTANT_RETURN_IF_ERROR(Calibrate(run, resolved, work, step));
  plan.flops = std::move(resolved.flops);
  SEXTANT_ASSIGN_OR_RETURN(plan.whole_run, PlanWholeRun({run, plan.state, step, work}, resolved));
  plan.compute = std::move(step.compute);
  plan.step = std::move(step.step);
  PlanTime(run, resolved, plan);
  SEXTANT_RETURN_IF_ERROR(CheckPeak(run, plan));
  plan.notes = NotesOf(run, resolved);
  AppendCostNotes(run, resolved, plan.notes);
  if (const TimeEstimate* const basis = BasisOf(plan)) {
    AppendResultNotes(*basis, plan.whole_run, plan.notes);
  }
  plan.notes.insert(plan.notes.end(), step.notes.begin(), step.notes.end());
  plan.rates = std::move(resolved.rates);
  if (run.options.include_derivation) plan.derivation = DerivationOf(run, plan);
  return plan;
}

}  // namespace sextant
