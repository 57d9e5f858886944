#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/run/plan.h"
#include "engine/run/plan_notes.h"

namespace sextant {
namespace {

// A device that holds the others back by less is within the spread of repeated measurements.
constexpr double kNoticedShare = 0.01;

void AboutInterruptions(const InterruptionSpec& spec, Notes& out) {
  std::vector<std::string> absent;
  std::vector<std::string> fields;
  const auto check = [&](bool given, const char* what, const char* field) {
    if (given) return;
    absent.push_back(what);
    fields.push_back(absl::StrCat("interruptions.", field));
  };
  check(spec.failures_per_device_hour.has_value(), "failures", "failures_per_device_hour");
  if (spec.fails()) {
    check(spec.restart_seconds.has_value(), "restart time other than reading the checkpoint",
          "restart_duration");
  } else {
    check(spec.writes(), "checkpoints", "checkpoint_interval");
  }
  check(spec.stall_ratio.has_value(), "evaluation and data stalls", "stall_ratio");
  if (absent.size() == 3 && !spec.fails()) {
    out.push_back({.kind = NoteKind::kNothingFails,
                   .text = "Failures, restarts, checkpoints, evaluation and data stalls take no "
                           "time: give interruptions to count them.",
                   .fields = {"interruptions"}});
    return;
  }
  std::string text = absent.empty()
                         ? ""
                         : absl::StrCat("No time is counted for ", absl::StrJoin(absent, " and "),
                                        ": give ", absl::StrJoin(fields, " and "), ". ");
  absl::StrAppend(&text, spec.fails() ? "Failures are independent of each other and of the run's "
                                        "age, and may hit restarts."
                                      : "The run never fails.");
  out.push_back({.kind = NoteKind::kInterruptionsAssumed, .text = std::move(text)});
  out.back().fields.assign(fields.begin(), fields.end());
}

void AboutEconomics(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const EconomicsSpec& e = run.economics;
  const auto add = [&out](NoteKind kind, std::string text, std::string field) {
    out.push_back({.kind = kind, .text = std::move(text), .fields = {std::move(field)}});
  };
  if (!e.device_hour_price_usd.has_value()) {
    add(NoteKind::kPriceMissing, "No cost: give economics.device_hour_price_usd.",
        "economics.device_hour_price_usd");
  }
  if (!resolved.device_power.has_value()) {
    add(NoteKind::kPowerMissing,
        "No energy: the catalogue has no power limit of this device; give "
        "economics.device_power_watts.",
        "economics.device_power_watts");
    return;
  }
  if (resolved.measured_power) {
    add(NoteKind::kPowerMeasured,
        "A device draws all the time what was measured during the sustained multiplication that "
        "its rate is of: give economics.device_power_watts for another figure.",
        "economics.device_power_watts");
    out.back().values = {{"power_watts", resolved.device_power->value()}};
  } else if (!e.device_power_watts.has_value()) {
    add(NoteKind::kPowerLimitDrawn,
        "A device draws its datasheet's power limit all the time: give "
        "economics.device_power_watts for another figure.",
        "economics.device_power_watts");
  }
  if (!e.host_power_watts_per_device.has_value()) {
    add(NoteKind::kHostPowerMissing,
        "Hosts and network draw nothing: give economics.host_power_watts_per_device.",
        "economics.host_power_watts_per_device");
  }
  if (!e.power_usage_effectiveness.has_value()) {
    add(NoteKind::kFacilityPowerMissing,
        "The facility adds nothing: give economics.power_usage_effectiveness.",
        "economics.power_usage_effectiveness");
  }
}

void AboutLimits(const Plan& plan, Notes& out) {
  const TimeEstimate* const basis = BasisOf(plan);
  if (basis == nullptr) return;
  if (basis->deadline.has_value() && !basis->deadline->met) {
    const double late = -basis->deadline->margin;
    out.push_back({.kind = NoteKind::kDeadlineMissed,
                   .text = absl::StrFormat("The %s run ends %.1f days after the deadline.",
                                           EstimateKindName(basis->kind), late / kSecondsPerDay),
                   .values = {{"late_seconds", late}},
                   .fields = {"economics.deadline"}});
  }
  if (basis->budget.has_value() && !basis->budget->met) {
    const double excess = -basis->budget->margin;
    out.push_back({.kind = NoteKind::kBudgetExceeded,
                   .text = absl::StrFormat("The %s run costs %.2f USD more than the budget.",
                                           EstimateKindName(basis->kind), excess),
                   .values = {{"excess_usd", excess}},
                   .fields = {"economics.budget_usd"}});
  }
}

// " and 1234.50 USD"; empty without a price.
std::string MoneyText(absl::optional<Dollars> cost) {
  return cost.has_value() ? absl::StrFormat(" and %.2f USD", cost->value()) : "";
}

void AboutSlowest(const Plan& plan, Notes& out) {
  if (!plan.whole_run.slowest.has_value()) return;
  const SlowestCost& slowest = *plan.whole_run.slowest;
  const double share = slowest.device.saved_share;
  if (share < kNoticedShare) return;
  out.push_back({.kind = NoteKind::kSlowestDevice,
                 .text = absl::StrFormat("All devices wait for %s%s: the next slowest in its place "
                                         "would save %.3g %% of the run, %.3g days%s.",
                                         slowest.device.uuid,
                                         slowest.hostname.empty() ? "" : " on " + slowest.hostname,
                                         100 * share, slowest.saved.value() / kSecondsPerDay,
                                         MoneyText(slowest.saved_cost)),
                 .values = {{"saved_share", share}, {"saved_seconds", slowest.saved.value()}},
                 .fields = {"cluster.device"}});
}

}  // namespace

void AppendCostNotes(const RunSpec& run, const ResolvedRun& resolved, const Plan& plan,
                     Notes& out) {
  if (run.options.assumptions) {
    AboutInterruptions(run.interruptions, out);
    AboutEconomics(run, resolved, out);
  }
  AboutLimits(plan, out);
  AboutSlowest(plan, out);
}

}  // namespace sextant
