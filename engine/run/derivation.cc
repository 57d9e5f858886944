#include "engine/run/derivation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/run/model_derivation.h"
#include "engine/run/plan.h"
#include "engine/run/plan_notes.h"

namespace sextant {
namespace {

std::string SourceOf(MfuBasis basis) {
  switch (basis) {
    case MfuBasis::kFullPeak:
      return "by definition";
    case MfuBasis::kRequest:
      return "the request";
    case MfuBasis::kAssumed:
      return kAssumedMfuSource;
    case MfuBasis::kPredicted:
      return "by definition";
    case MfuBasis::kMeasuredRate:
      break;
  }
  return "the measured rate of matrix multiplication";
}

// Collects steps; one method for each part of a plan, in the order of the plan.
class Derivation {
 public:
  Derivation(const RunSpec& run, const Plan& plan) : run_(run), plan_(plan) {}

  std::vector<DerivationStep> Take() {
    AppendInputs();
    AppendModelSteps(run_, plan_, steps_);
    AppendState();
    AppendFit();
    AppendRates();
    AppendElapsedSteps(run_, plan_, steps_);
    for (const TimeEstimate& estimate : plan_.estimates) AppendEstimate(estimate);
    AppendWholeRunSteps(plan_, steps_);
    return std::move(steps_);
  }

 private:
  void Add(DerivationStep step) { steps_.push_back(std::move(step)); }

  void AppendInputs();
  void AppendState();
  void AppendTerm(const StateTerm& term);
  void AppendCapacity();
  void AppendFit();
  void AppendRates();
  void AppendMeasurement(const Rate& rate);
  void AppendEstimate(const TimeEstimate& estimate);
  void AppendAtPeak(absl::string_view prefix, const TimeEstimate& estimate);
  void AppendAtMeasuredRate(absl::string_view prefix, const TimeEstimate& estimate);
  void AppendStep();
  void AppendPredicted(absl::string_view prefix, const TimeEstimate& estimate);
  void AppendCost(absl::string_view prefix, const TimeEstimate& estimate);
  void AppendEnergy(absl::string_view prefix, const TimeEstimate& estimate);
  void AppendLimits(absl::string_view prefix, const TimeEstimate& estimate);
  double RateValue(absl::string_view quantity) const;

  const RunSpec& run_;
  const Plan& plan_;
  std::vector<DerivationStep> steps_;
};

void Derivation::AppendInputs() {
  const auto add = [&](absl::string_view symbol, double value, absl::string_view unit) {
    Add({std::string(symbol), "given", Number(value), value, unit, "the request"});
  };
  const auto add_default = [&](absl::string_view symbol, absl::optional<double> value,
                               double otherwise, absl::string_view unit) {
    Add({std::string(symbol), "given", Number(value.value_or(otherwise)), value.value_or(otherwise),
         unit, value.has_value() ? "the request" : "default"});
  };
  add("device_count", static_cast<double>(plan_.device_count), "device");
  add("token_count", static_cast<double>(plan_.token_count), "token");
  if (plan_.activations.has_value()) {
    add("memory.state.activation_bytes", static_cast<double>(plan_.activations->value()), "byte");
  }
  const auto reserved = run_.cluster.reserved_memory_bytes;
  Add({"reserved_memory_bytes", "given", Number(reserved.value_or(0)),
       static_cast<double>(reserved.value_or(0)), "byte",
       reserved.has_value() ? "the request" : "default"});
  const EconomicsSpec& economics = run_.economics;
  if (economics.device_hour_price_usd.has_value()) {
    add("device_hour_price_usd", *economics.device_hour_price_usd, "USD/(device hour)");
  }
  add_default("host_power_watts_per_device", economics.host_power_watts_per_device, 0, "W");
  add_default("power_usage_effectiveness", economics.power_usage_effectiveness, 1, "ratio");
}

void Derivation::AppendState() {
  std::string sum;
  for (const StateTerm& term : plan_.state.terms) {
    AppendTerm(term);
    sextant::AppendTerm(sum, term.size.value());
  }
  Add({"memory.state.state_bytes", "sum of the terms' size_bytes", sum,
       static_cast<double>(plan_.state.total.value()), "byte", "docs/memory.md"});
}

void Derivation::AppendTerm(const StateTerm& term) {
  const std::string prefix = absl::StrCat("memory.state.terms.", term.name);
  const auto size = static_cast<double>(term.size.value());
  Add({prefix + ".size_bytes", "elements x element_bytes + scale_bytes",
       absl::StrCat(term.elements, " * ", term.element_bytes, " + ", term.scale_bytes), size,
       "byte", std::string(term.source)});
  Add({prefix + ".bytes_per_parameter", "size_bytes / parameters.total",
       absl::StrCat(term.size.value(), " / ", plan_.parameters.all.total),
       size / static_cast<double>(plan_.parameters.all.total), "byte/parameter", "by definition"});
}

void Derivation::AppendCapacity() {
  const DeviceCapacity& capacity = plan_.capacity;
  const auto add = [&](absl::string_view symbol, absl::string_view formula, Bytes bytes,
                       absl::string_view source) {
    Add({absl::StrCat("memory.capacity.", symbol), formula, Number(bytes),
         static_cast<double>(bytes.value()), "byte", std::string(source)});
  };
  if (capacity.reported.has_value()) {
    add("reported_bytes", "given", *capacity.reported, "as its driver or host reports it");
  }
  if (capacity.nominal.has_value()) {
    add("nominal_bytes", "given", *capacity.nominal, "the datasheet");
  }
  add("capacity_bytes", "memory_bytes", capacity.capacity, "docs/memory.md");
  add("driver_reserved_bytes", "given", capacity.driver_reserved, "docs/memory.md");
  add("reserved_bytes", "reserved_memory_bytes", capacity.reserved, "docs/memory.md");
  Add({"memory.capacity.usable_bytes", "capacity_bytes - driver_reserved_bytes - reserved_bytes",
       absl::StrCat(Number(capacity.capacity), " - ", Number(capacity.driver_reserved), " - ",
                    Number(capacity.reserved)),
       static_cast<double>(capacity.usable().value()), "byte", "docs/memory.md"});
}

void Derivation::AppendFit() {
  const Fit& fit = plan_.fit;
  const std::string n = Number(run_.cluster.device_count);
  const std::string usable = Number(plan_.capacity.usable());
  const std::string activations = Number(plan_.activations.value_or(Bytes(0)));
  const auto add = [&](absl::string_view symbol, absl::string_view formula, std::string numbers,
                       double value, absl::string_view unit) {
    Add({absl::StrCat("memory.", symbol), formula, std::move(numbers), value, unit,
         "docs/memory.md"});
  };
  add("state.total_bytes", "state_bytes + activation_bytes",
      absl::StrCat(Number(plan_.state.total), " + ", activations),
      static_cast<double>(fit.total.value()), "byte");
  AppendCapacity();
  // Under a layout the ledger adds up to the peak.
  if (!plan_.memory_estimate.has_value()) {
    add("peak_bytes.expected", "ceil(total_bytes / device_count)",
        absl::StrCat("ceil(", Number(fit.total), " / ", n, ")"),
        static_cast<double>(fit.per_device.value()), "byte");
    add("headroom_bytes.expected", "usable_bytes - peak_bytes",
        absl::StrCat(usable, " - ", Number(fit.per_device)),
        static_cast<double>(fit.headroom.value()), "byte");
  }
  add("state.minimum_device_count", "ceil(total_bytes / usable_bytes)",
      absl::StrCat("ceil(", Number(fit.total), " / ", usable, ")"),
      static_cast<double>(fit.minimum_device_count), "device");
  if (fit.largest_parameter_count == 0) return;  // activations alone fill the devices
  add("state.largest_parameter_count",
      "floor((device_count x usable_bytes - activation_bytes) x parameters / state_bytes)",
      absl::StrCat("floor((", n, " * ", usable, " - ", activations, ") * ",
                   plan_.parameters.all.total, " / ", Number(plan_.state.total), ")"),
      static_cast<double>(fit.largest_parameter_count), "parameter");
}

void Derivation::AppendRates() {
  for (const Rate& rate : plan_.rates) {
    Add({absl::StrCat("rates.", rate.quantity, ".value"), "given", Number(rate.value), rate.value,
         rate.unit, rate.citation});
    if (rate.measured.has_value()) AppendMeasurement(rate);
  }
}

void Derivation::AppendMeasurement(const Rate& rate) {
  const std::string prefix = absl::StrCat("rates.", rate.quantity);
  if (rate.measured->relative_spread.has_value()) {
    const double spread = *rate.measured->relative_spread;
    Add({prefix + ".relative_spread", "given", Number(spread), spread, "ratio", rate.citation});
  }
  Add({prefix + ".measured_time.seconds", "given", Number(rate.measured->unix_seconds),
       static_cast<double>(rate.measured->unix_seconds), "s since 1970-01-01T00:00:00Z",
       absl::StrCat("calibration ", rate.measured->calibration_fingerprint)});
}

void Derivation::AppendEstimate(const TimeEstimate& estimate) {
  const std::string prefix = absl::StrCat("estimates.", EstimateKindName(estimate.kind));
  if (estimate.kind == EstimateKind::kPredicted) {
    AppendPredicted(prefix, estimate);
  } else if (estimate.kind == EstimateKind::kMeasuredBound) {
    AppendAtMeasuredRate(prefix, estimate);
  } else {
    AppendAtPeak(prefix, estimate);
  }
}

void Derivation::AppendAtPeak(absl::string_view prefix, const TimeEstimate& cost) {
  const auto& hardware = plan_.flops.hardware;
  if (cost.kind == EstimateKind::kLowerBound && hardware.has_value()) {
    Add({absl::StrCat(prefix, ".mfu"), "1 / flops.hardware_flops_ratio",
         absl::StrCat("1 / ", Number(hardware->ratio())), *cost.mfu, "ratio",
         SourceOf(cost.mfu_basis)});
  } else {
    Add({absl::StrCat(prefix, ".mfu"), "given", Number(*cost.mfu), *cost.mfu, "ratio",
         SourceOf(cost.mfu_basis)});
  }
  Add({absl::StrCat(prefix, ".duration_seconds.expected"),
       "flops / (device_count x peak_flops_per_second x mfu)",
       absl::StrCat(Number(plan_.flops.used().run.value()), " / (", run_.cluster.device_count,
                    " * ", Number(RateValue("peak_flops_per_second")), " * ", Number(*cost.mfu),
                    ")"),
       cost.duration.value(), "s", "Chowdhery et al. 2022 (arXiv 2204.02311) appendix B"});
  AppendCost(prefix, cost);
}

void Derivation::AppendAtMeasuredRate(absl::string_view prefix, const TimeEstimate& cost) {
  const std::string rate = Number(RateValue("matmul_flops_per_second"));
  const bool twice = plan_.flops.hardware.has_value();  // recomputation runs at this rate, too
  const std::string ratio = twice ? Number(plan_.flops.hardware->ratio()) : "";
  if (cost.mfu.has_value()) {
    Add({absl::StrCat(prefix, ".mfu"),
         twice ? "matmul_flops_per_second / peak_flops_per_second / flops.hardware_flops_ratio"
               : "matmul_flops_per_second / peak_flops_per_second",
         absl::StrCat(rate, " / ", Number(RateValue("peak_flops_per_second")), twice ? " / " : "",
                      ratio),
         *cost.mfu, "ratio", SourceOf(cost.mfu_basis)});
  }
  Add({absl::StrCat(prefix, ".duration_seconds.expected"),
       twice ? "flops x flops.hardware_flops_ratio / (device_count x matmul_flops_per_second)"
             : "flops / (device_count x matmul_flops_per_second)",
       absl::StrCat(Number(plan_.flops.used().run.value()), twice ? " * " : "", ratio, " / (",
                    run_.cluster.device_count, " * ", rate, ")"),
       cost.duration.value(), "s", "docs/plan.md"});
  AppendCost(prefix, cost);
}

void Derivation::AppendStep() {
  const StepPlan& step = *plan_.step;
  std::string sum;
  for (size_t i = 0; i < kStepCauseCount; ++i) {
    const double seconds = step.estimate.parts[i];
    if (seconds <= 0) continue;
    Add({absl::StrCat("step_time.parts.", StepCauseName(static_cast<StepCause>(i)), ".seconds"),
         "given", Number(seconds), seconds, "s", "docs/step_time.md"});
    absl::StrAppend(&sum, sum.empty() ? "" : " + ", Number(seconds));
  }
  Add({"step_time.seconds.expected", "sum of the parts' seconds", sum,
       step.estimate.seconds.expected.value(), "s", "docs/step_time.md"});
}

void Derivation::AppendPredicted(absl::string_view prefix, const TimeEstimate& cost) {
  AppendStep();
  std::string sum;
  for (const PhaseSteps& phase : plan_.whole_run.steps->phases) {
    absl::StrAppend(&sum, sum.empty() ? "" : " + ", Number(phase.step.value()), " * ",
                    phase.token_count, " / ", phase.step_tokens);
  }
  Add({absl::StrCat(prefix, ".duration_seconds.expected"),
       "step_time.seconds x token_count / step_time.token_count, of each phase of the batch",
       std::move(sum), cost.duration.value(), "s", "docs/plan.md"});
  if (cost.mfu.has_value()) {
    Add({absl::StrCat(prefix, ".mfu"),
         "flops / (device_count x peak_flops_per_second x duration_seconds)",
         absl::StrCat(Number(plan_.flops.used().run.value()), " / (", run_.cluster.device_count,
                      " * ", Number(RateValue("peak_flops_per_second")), " * ",
                      Number(cost.duration.value()), ")"),
         *cost.mfu, "ratio", SourceOf(cost.mfu_basis)});
  }
  AppendCost(prefix, cost);
}

// The steps that follow from the duration.
void Derivation::AppendCost(absl::string_view prefix, const TimeEstimate& cost) {
  const std::string n = Number(run_.cluster.device_count);
  const std::string seconds = Number(cost.duration.value());
  const auto add = [&](absl::string_view symbol, absl::string_view formula, std::string numbers,
                       double value, absl::string_view unit, absl::string_view source) {
    Add({absl::StrCat(prefix, ".", symbol), formula, std::move(numbers), value, unit,
         std::string(source)});
  };
  if (cost.hfu.has_value()) {
    add("hfu", "mfu x flops.hardware_flops_ratio",
        absl::StrCat(Number(*cost.mfu), " * ", Number(plan_.flops.hardware->ratio())), *cost.hfu,
        "ratio", "docs/transformer.md");
  }
  if (cost.measured_fraction.has_value()) {
    add("measured_fraction", "flops / (device_count x matmul_flops_per_second x duration_seconds)",
        absl::StrCat(Number(plan_.flops.used().run.value()), " / (", n, " * ",
                     Number(RateValue("matmul_flops_per_second")), " * ", seconds, ")"),
        *cost.measured_fraction, "ratio", "by definition");
  }
  const std::string elapsed = Number(cost.elapsed.value());
  add("elapsed_seconds.expected", "duration_seconds x elapsed_per_second",
      absl::StrCat(seconds, " * ", Number(plan_.whole_run.elapsed.all())), cost.elapsed.value(),
      "s", "docs/plan.md");
  add("device_hours", "device_count x elapsed_seconds / 3600",
      absl::StrCat(n, " * ", elapsed, " / 3600"), cost.device_hours, "device hour",
      "by definition");
  add("tokens_per_second", "token_count / duration_seconds",
      absl::StrCat(run_.training.token_count, " / ", seconds), cost.tokens_per_second, "token/s",
      "by definition");
  if (cost.cost.has_value()) {
    add("cost_usd", "device_hours x device_hour_price_usd",
        absl::StrCat(Number(cost.device_hours), " * ",
                     Number(*run_.economics.device_hour_price_usd)),
        cost.cost->value(), "USD", "docs/plan.md");
  }
  AppendEnergy(prefix, cost);
  AppendLimits(prefix, cost);
}

void Derivation::AppendLimits(absl::string_view prefix, const TimeEstimate& cost) {
  const auto add = [&](absl::string_view name, absl::string_view formula, double limit,
                       double expected, const LimitCheck& check, absl::string_view unit) {
    Add({absl::StrCat(prefix, ".", name, ".margin"), formula,
         absl::StrCat(Number(limit), " - ", Number(expected)), check.margin, unit,
         "by definition"});
    if (!check.chance.has_value()) return;
    Add({absl::StrCat(prefix, ".", name, ".chance"), "given", Number(*check.chance), *check.chance,
         "ratio", "docs/memory.md"});
  };
  if (cost.deadline.has_value()) {
    add("deadline", "deadline - start_time - elapsed_seconds", *run_.economics.seconds_to_deadline,
        cost.elapsed.value(), *cost.deadline, "s");
  }
  if (cost.budget.has_value()) {
    add("budget", "budget_usd - cost_usd", *run_.economics.budget_usd, cost.cost->value(),
        *cost.budget, "USD");
  }
}

void Derivation::AppendEnergy(absl::string_view prefix, const TimeEstimate& cost) {
  if (!cost.energy.has_value()) return;
  Add({absl::StrCat(prefix, ".energy_joules"),
       "device_count x (device_power_watts + host_power_watts_per_device) x elapsed_seconds x "
       "power_usage_effectiveness",
       absl::StrCat(run_.cluster.device_count, " * (", Number(RateValue("device_power_watts")),
                    " + ", Number(run_.economics.host_power_watts_per_device.value_or(0)), ") * ",
                    Number(cost.elapsed.value()), " * ",
                    Number(run_.economics.power_usage_effectiveness.value_or(1))),
       cost.energy->value(), "J", "docs/plan.md"});
}

double Derivation::RateValue(absl::string_view quantity) const {
  for (const Rate& rate : plan_.rates) {
    if (rate.quantity == quantity) return rate.value;
  }
  return 0;
}

}  // namespace

std::vector<DerivationStep> DerivationOf(const RunSpec& run, const Plan& plan) {
  return Derivation(run, plan).Take();
}

}  // namespace sextant
