#include "client/report/planned_run.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/flags/plan_flags.h"
#include "client/io/call_error.h"
#include "client/report/lines.h"
#include "client/report/plan_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/text.h"

namespace sextant::client {

std::string DaysText(double seconds) {
  const double days = seconds / 86400;
  return days < 1000 ? absl::StrFormat("%.4g", days) : Grouped(days, 0);
}

std::string ShortNumber(double value) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [unit, name] : kUnits) {
    // A value that rounds up to the unit has it, too.
    if (value >= 0.99995 * unit) return absl::StrFormat("%.4g%s", value / unit, name);
  }
  return absl::StrFormat("%.4g", value);
}

std::string UnreadLines(const char* label, const std::vector<const v1::Plan*>& plans) {
  std::set<std::string> all;
  for (const v1::Plan* const plan : plans) {
    all.insert(UnreadFieldsWords(plan->unread_config_fields()));
  }
  std::string out;
  for (const std::string& words : all) out += Line(label, words);
  return out;
}

std::string RatesLines(const char* label, const std::vector<const v1::Plan*>& plans,
                       absl::Time now) {
  // Several plans have the same sources with different shares.
  const KernelShares shares = plans.size() > 1 ? KernelShares::kLeftOut : KernelShares::kSaid;
  std::vector<std::string> all;
  for (const v1::Plan* const plan : plans) {
    std::string words = RatesWords(*plan, now, shares);
    if (!words.empty() && !absl::c_linear_search(all, words)) all.push_back(std::move(words));
  }
  std::string out;
  for (const std::string& words : all) out += Line(label, words);
  return out;
}

std::string StepCell(const v1::Plan& plan) {
  return plan.has_step_time() ? TimeToThreeDigits(plan.step_time().seconds().expected()) : kNoValue;
}

std::string DaysCell(const v1::Plan& plan) {
  const v1::TimeEstimate* const estimate = BasisEstimate(plan);
  return estimate == nullptr ? kNoValue : DaysText(estimate->elapsed_seconds().expected());
}

std::string DeviceHoursCell(const v1::Plan& plan) {
  const v1::TimeEstimate* const estimate = BasisEstimate(plan);
  return estimate == nullptr ? kNoValue : ShortNumber(estimate->device_hours());
}

std::string CostCell(const v1::Plan& plan) {
  const v1::TimeEstimate* const estimate = BasisEstimate(plan);
  const bool priced = estimate != nullptr && estimate->has_cost_usd();
  return priced ? ShortNumber(estimate->cost_usd()) : kNoValue;
}

std::string MfuCell(const v1::Plan& plan) {
  const v1::TimeEstimate* const estimate = BasisEstimate(plan);
  const bool known = estimate != nullptr && estimate->has_mfu();
  return known ? absl::StrFormat("%.1f %%", 100 * estimate->mfu()) : kNoValue;
}

std::string ShortVerdict(const v1::PlannedRun& run) {
  static constexpr Worded<v1::Verdict> kVerdicts[] = {{v1::VERDICT_FITS, "yes"},
                                                      {v1::VERDICT_TIGHT, "tight"},
                                                      {v1::VERDICT_STATE_FITS, "state"},
                                                      {v1::VERDICT_DOES_NOT_FIT, "no"}};
  return run.has_plan() ? WordsOf(kVerdicts, run.plan().verdict(), kNoValue) : "refused";
}

std::string FieldOfRun(const std::string& field) {
  const size_t end = field.find("].");
  return PlanFieldWords(end == std::string::npos ? field : field.substr(end + 2));
}

std::string ReasonOf(const google::rpc::Status& status, FieldWords words) {
  const CallError error = CallErrorOf(status);
  std::vector<std::string> parts;
  for (const CallError::Violation& violation : error.field_violations) {
    parts.push_back(
        absl::StrCat(words(violation.subject), " ", PlanDescriptionWords(violation.description)));
  }
  return parts.empty() ? OneLine(error.message) : absl::StrJoin(parts, "; ");
}

}  // namespace sextant::client
