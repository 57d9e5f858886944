#include "engine/search/allocate_compute.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/run/planned_run.h"
#include "engine/run/resolve.h"

namespace sextant {
namespace {

constexpr double kMaxDurationSeconds = 1e10;

// Other sizes at which an answer has the loss, over the optimum's.
constexpr double kOffOptimum[] = {0.25, 0.5, 2, 4};

constexpr char kDeadline[] = "economics.deadline";
constexpr char kBudgetUsd[] = "economics.budget_usd";

// A field of the request and whether it is given.
struct GivenField {
  bool given;
  const char* field;
};

void AddGiven(absl::Span<const GivenField> fields, absl::string_view description,
              FieldViolations& violations) {
  for (const GivenField& f : fields) {
    if (f.given) violations.Add(f.field, description);
  }
}

// Fields of devices that would be ignored if accepted.
void CheckUnused(const RunSpec& run, FieldViolations& violations) {
  const ClusterSpec& cluster = run.cluster;
  const EconomicsSpec& economics = run.economics;
  AddGiven(
      {{cluster.device_memory_bytes.has_value(), "cluster.device_memory_bytes"},
       {cluster.reserved_memory_bytes.has_value(), "cluster.reserved_memory_bytes"},
       {cluster.host_memory_bytes.has_value(), "cluster.host_memory_bytes"},
       {!cluster.node_type.empty(), "cluster.node_type"},
       {!cluster.network.name.empty() || cluster.network.bytes_per_second != 0, "cluster.network"},
       {economics.device_power_watts.has_value(), "economics.device_power_watts"},
       {economics.host_power_watts_per_device.has_value(), "economics.host_power_watts_per_device"},
       {economics.power_usage_effectiveness.has_value(), "economics.power_usage_effectiveness"}},
      "has no say in a budget of compute: leave it out", violations);
}

// Reports times given in no way or in several.
void CheckTime(const AllocationSpec& spec, FieldViolations& violations) {
  const EconomicsSpec& economics = spec.run.economics;
  const GivenField times[] = {{spec.duration_seconds.has_value(), "duration"},
                              {economics.seconds_to_deadline.has_value(), kDeadline},
                              {economics.budget_usd.has_value(), kBudgetUsd}};
  const auto given = std::count_if(std::begin(times), std::end(times),
                                   [](const GivenField& time) { return time.given; });
  if (given == 0 && !violations.Mentions("economics") && !violations.Mentions("duration")) {
    violations.Add("duration", absl::StrCat("is required, or ", kDeadline, " or ", kBudgetUsd,
                                            ": say for how long the devices compute"));
  }
  if (given > 1) {
    AddGiven(times, "is one of several times of the devices: leave out all but one", violations);
  }
  if (spec.duration_seconds.has_value()) {
    violations.RequireRange("", "duration", *spec.duration_seconds,
                            {.low = 0, .high = kMaxDurationSeconds, .above_low = true});
  }
  if (economics.budget_usd.has_value() && economics.device_hour_price_usd == 0.0) {
    violations.Add(
        "economics.device_hour_price_usd",
        absl::StrCat("must be above 0 with ", kBudgetUsd, ": free devices compute for any time"));
  }
}

// Reports budgets given in no way or in both.
void CheckBudget(const AllocationSpec& spec, FieldViolations& violations) {
  const RunSpec& run = spec.run;
  const EconomicsSpec& economics = run.economics;
  const bool has_requirement = run.rate_requirement.minimum_source.has_value() ||
                               run.rate_requirement.maximum_age_seconds.has_value();
  const GivenField of_devices[] = {
      {spec.devices_given, "cluster"},
      {spec.duration_seconds.has_value(), "duration"},
      {economics.seconds_to_deadline.has_value(), kDeadline},
      {economics.budget_usd.has_value(), kBudgetUsd},
      {economics.device_hour_price_usd.has_value(), "economics.device_hour_price_usd"},
      {run.options.assumed_mfu.has_value(), "assumed_mfu"},
      {run.training.precision.compute_data_type != DataType::kUnspecified, "compute_data_type"},
      {has_requirement, "rate_requirement"}};
  if (spec.flops.has_value()) {
    AddGiven(of_devices, "is of a budget of devices: leave it out, or leave out flops", violations);
    return;
  }
  if (!spec.devices_given) {
    violations.Add("flops", "is required, or cluster: give FLOPs, or devices and their time");
    return;
  }
  CheckTime(spec, violations);
  CheckUnused(run, violations);
}

const ScalingRuleFacts& FactsOf(ScalingRule rule) {
  return ScalingRules()[static_cast<size_t>(rule)];
}

void CheckUse(const AllocationSpec& spec, FieldViolations& violations) {
  if (!spec.served_token_count.has_value() || !spec.rule.has_value() ||
      FactsOf(*spec.rule).loss.has_value()) {
    return;
  }
  std::vector<absl::string_view> names;
  for (const ScalingRuleFacts& rule : ScalingRules()) {
    if (rule.loss.has_value()) names.push_back(rule.name);
  }
  violations.Add("served_token_count",
                 absl::StrCat("needs a rule with a law of loss, which ", FactsOf(*spec.rule).name,
                              " has not: leave it out, or ask for ", absl::StrJoin(names, ", "),
                              " or no rule"));
}

// A run's names of fields as this request's.
std::string Reworded(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"options.assumed_mfu", "assumed_mfu"},
                                    {"training.precision.compute_data_type", "compute_data_type"}});
}

absl::Status Reworded(const absl::Status& status) {
  if (const auto found = FieldViolationsOf(status); !found.empty()) {
    FieldViolations violations;
    for (const FieldViolation& v : found) {
      violations.AddOnce(Reworded(v.field), Reworded(v.description));
    }
    return violations.ToStatus();
  }
  std::vector<PreconditionViolation> missing = PreconditionsOf(status);
  if (missing.empty()) return status;
  for (PreconditionViolation& v : missing) v.description = Reworded(v.description);
  return FailedPrecondition(ReasonOf(status), missing);
}

// True where a plan's note is about a rate that `budget` stands on.
bool IsAboutBudget(NoteKind kind, const DeviceBudget& budget) {
  switch (kind) {
    case NoteKind::kMfuAssumed:
      return budget.mfu_basis == MfuBasis::kAssumed;
    case NoteKind::kMeasuredBound:
    case NoteKind::kDevicesNotMeasured:
    case NoteKind::kRateUnstable:
    case NoteKind::kCalibrationPartial:
      return budget.basis == EstimateKind::kMeasuredBound;
    case NoteKind::kPeak:
    case NoteKind::kMeasuredAbovePeak:
    case NoteKind::kDeviceIsProcessor:
    case NoteKind::kAgeLimitsNothing:
    case NoteKind::kCatalogue:
      return true;
    default:
      return false;
  }
}

// The time of the budget, whose fields are sound, and the field that says it.
std::pair<Seconds, const char*> TimeOf(const AllocationSpec& spec) {
  const EconomicsSpec& economics = spec.run.economics;
  if (spec.duration_seconds.has_value()) return {Seconds(*spec.duration_seconds), "duration"};
  if (economics.seconds_to_deadline.has_value()) {
    return {Seconds(*economics.seconds_to_deadline), kDeadline};
  }
  const double hours = *economics.budget_usd / *economics.device_hour_price_usd;
  return {Seconds(hours * kSecondsPerHour / static_cast<double>(spec.run.cluster.device_count)),
          kBudgetUsd};
}

// Fills the rate that the budget counts: the measured one, unless the request assumes an MFU, which
// is a share of the peak. Error: kInvalidArgument where there is neither.
absl::Status RateTo(const RunSpec& run, const ResolvedRun& resolved, DeviceBudget& out) {
  const absl::optional<double> assumed = run.options.assumed_mfu;
  if (resolved.measured.has_value() && !assumed.has_value()) {
    out.basis = EstimateKind::kMeasuredBound;
    out.mfu_basis = MfuBasis::kMeasuredRate;
    out.rate = resolved.measured->matmul->rate;
    out.utilisation = 1;
    if (resolved.peak.has_value()) out.mfu = out.rate.value() / resolved.peak->value();
    return absl::OkStatus();
  }
  if (!resolved.peak.has_value()) {
    return InvalidField(
        "cluster.peak_flops_per_second",
        absl::StrCat("is required: no ", DataTypeName(resolved.precision.compute_data_type),
                     " peak of ", resolved.device_name, " is known"));
  }
  out.mfu_basis = assumed.has_value() ? MfuBasis::kRequest : MfuBasis::kAssumed;
  out.rate = *resolved.peak;
  out.utilisation = assumed.value_or(kAssumedMfu);
  out.mfu = out.utilisation;
  return absl::OkStatus();
}

// Fills the budget of devices: n x time x rate x utilisation, the definition of MFU (Chowdhery et
// al. 2022, arXiv 2204.02311, appendix B) solved for the FLOPs.
absl::Status DeviceBudgetTo(const AllocationSpec& spec, FieldViolations violations,
                            ComputeAllocation& out) {
  RunSpec run = spec.run;
  run.model.parameter_count = 1;  // any run will do: it is about its devices alone
  run.training.token_count = 1;
  absl::StatusOr<ResolvedRun> resolved = Resolve(run, std::move(violations));
  if (!resolved.ok()) return Reworded(resolved.status());
  DeviceBudget budget = {.device = resolved->device_name,
                         .device_count = static_cast<double>(run.cluster.device_count)};
  SEXTANT_RETURN_IF_ERROR(RateTo(run, *resolved, budget));
  const auto [time, field] = TimeOf(spec);
  budget.duration = time;
  out.budget = Flops(budget.device_count * time.value() * budget.rate.value() * budget.utilisation);
  if (!(out.budget >= Flops(kMinBudgetFlops) && out.budget <= Flops(kMaxBudgetFlops))) {
    return InvalidField(field,
                        absl::StrFormat("makes a budget of %g FLOPs: it has to have %g to %g",
                                        out.budget.value(), kMinBudgetFlops, kMaxBudgetFlops));
  }
  if (run.economics.device_hour_price_usd.has_value()) {
    budget.cost = Dollars(budget.device_hours() * *run.economics.device_hour_price_usd);
  }
  for (Note& note : NotesOf(run, *resolved)) {
    if (!IsAboutBudget(note.kind, budget)) continue;
    note.text = Reworded(note.text);
    for (std::string& name : note.fields) name = Reworded(name);
    out.notes.push_back(std::move(note));
  }
  for (Rate& rate : resolved->rates) {
    if (rate.unit == "FLOP/s") out.rates.push_back(std::move(rate));
  }
  out.devices = std::move(budget);
  return absl::OkStatus();
}

ServingAllocation ServingOf(const LossLaw& law, const RuleAllocation& answer,
                            const ServingCost& cost) {
  ServingAllocation out = {.size = ServingOptimumOf(law, answer.optimum, cost)};
  const Flops before = cost.total(answer.optimum);
  out.training = Flops(cost.training_flops_per_parameter_token * out.size.product());
  out.serving = cost.serving(out.size);
  out.saved = std::max(before - cost.total(out.size), Flops(0));  // rounding alone is below
  out.saved_ratio = out.saved.value() / before.value();
  out.extrapolated = !answer.rule->range.Holds(out.size);
  return out;
}

RatioAllocation RatioOf(double ratio, double flops_per_parameter_token,
                        const RuleAllocation& answer) {
  const double parameters = std::sqrt(answer.optimum.product() / ratio);
  RatioAllocation out = {.size = {.parameters = parameters, .tokens = ratio * parameters}};
  out.extrapolated = !answer.rule->range.Holds(out.size);
  const absl::optional<LossLaw>& law = answer.rule->loss;
  if (!law.has_value()) return out;
  out.loss = LossOf(*law, out.size);
  out.loss_increase = std::max(*out.loss - *answer.loss, 0.0);
  const double product = std::min(ProductReaching(*law, *out.loss), answer.optimum.product());
  out.equal_loss = Flops(flops_per_parameter_token * product);
  return out;
}

RuleAllocation AllocationBy(const ScalingRuleFacts& rule, const AllocationSpec& spec,
                            const ComputeAllocation& budget) {
  const double per_token = budget.flops_per_parameter_token;
  RuleAllocation out = {.rule = &rule};
  out.optimum = OptimumOf(rule, budget.budget.value() / per_token);
  out.extrapolated = !rule.range.Holds(out.optimum);
  if (rule.loss.has_value()) {
    out.loss = LossOf(*rule.loss, out.optimum);
    for (const double ratio : kOffOptimum) {
      const ModelSize other = {.parameters = out.optimum.parameters * ratio,
                               .tokens = out.optimum.tokens / ratio};
      out.off_optimum.push_back({ratio, LossOf(*rule.loss, other) - *out.loss});
    }
    if (spec.served_token_count.has_value()) {
      out.serving = ServingOf(*rule.loss, out,
                              {.training_flops_per_parameter_token = per_token,
                               .served_tokens = *spec.served_token_count});
    }
  }
  if (spec.tokens_per_parameter.has_value()) {
    out.at_ratio = RatioOf(*spec.tokens_per_parameter, per_token, out);
  }
  return out;
}

}  // namespace

absl::StatusOr<ComputeAllocation> AllocateCompute(const AllocationSpec& spec,
                                                  FieldViolations found) {
  CheckBudget(spec, found);
  CheckUse(spec, found);
  ComputeAllocation out;
  out.flops_per_parameter_token =
      spec.flops_per_parameter_token.value_or(kTrainingFlopsPerParameterToken);
  if (spec.devices_given && !spec.flops.has_value()) {
    SEXTANT_RETURN_IF_ERROR(DeviceBudgetTo(spec, std::move(found), out));
  } else {
    SEXTANT_RETURN_IF_ERROR(found.ToStatus());
    out.budget = Flops(*spec.flops);
  }
  for (const ScalingRuleFacts& rule : ScalingRules()) {
    if (spec.rule.value_or(rule.rule) != rule.rule) continue;
    out.rules.push_back(AllocationBy(rule, spec, out));
  }
  return out;
}

}  // namespace sextant
