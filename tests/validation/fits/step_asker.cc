#include "tests/validation/fits/step_asker.h"

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "engine/run/plan.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "server/device/device_finder.h"

namespace sextant {
namespace {

// PlanningService.PlanRun on a host without devices.
absl::StatusOr<v1::Plan> PlanOf(const v1::PlanRunRequest& request) {
  static auto* const supplied = new server::SuppliedCalibrations();
  static const auto* const host = new server::CalibrationSnapshot();
  const server::DeviceFinder finder({.supplied = *supplied, .host = *host});
  FieldViolations violations;
  const RunSpec run = server::RunSpecFrom(request, finder, violations);
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(run, std::move(violations)));
  v1::Plan out;
  server::PlanTo(std::move(plan), run.options.full, &out);
  return out;
}

void Set(const StepOverrides& overrides, v1::SoftwareStack& out) {
  for (const auto& [name, value] : overrides) {
    const auto* const field = v1::SoftwareStack::descriptor()->FindFieldByName(name);
    if (field == nullptr || field->cpp_type() != field->CPPTYPE_DOUBLE) continue;
    out.GetReflection()->SetDouble(&out, field, value);
  }
}

std::string CauseName(v1::StepCause cause) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::StepCause_Name(cause), "STEP_CAUSE_"));
}

double Between(double from, double to, double share) { return from + share * (to - from); }

// The words of a plan that has no step time.
std::string WhyNot(const v1::Plan& plan) {
  std::string out = "no step_time: not predicted";
  for (const v1::Note& note : plan.warnings()) {
    if (absl::StrContains(v1::NoteKind_Name(note.kind()), "STEP")) {
      absl::StrAppend(&out, ": ", note.text());
    }
  }
  return out;
}

}  // namespace

double StepPrediction::SpanErrorOf(double measured) const {
  if (measured < span_low) return span_low / measured - 1;
  if (measured > span_high) return span_high / measured - 1;
  return 0;
}

absl::StatusOr<StepAsker::Answer> StepAsker::AskOne(v1::PlanRunRequest request,
                                                    const StepOverrides& overrides) {
  Set(overrides, *request.mutable_layout()->mutable_software());
  const std::string key = request.SerializeAsString();
  const auto known = answers_.find(key);
  if (known != answers_.end()) return known->second;
  SEXTANT_ASSIGN_OR_RETURN(const v1::Plan plan, PlanOf(request));
  if (!plan.has_step_time()) return absl::FailedPreconditionError(WhyNot(plan));
  const v1::StepTime& time = plan.step_time();
  Answer out = {.expected = time.seconds().expected(),
                .low = time.seconds().low(),
                .high = time.seconds().high()};
  for (const v1::StepPart& part : time.parts()) {
    out.parts.emplace_back(CauseName(part.cause()), part.seconds());
  }
  answers_.emplace(key, out);
  return out;
}

absl::StatusOr<StepOverrides> StepAsker::DefaultsOf(const StepRow& row) {
  const auto known = defaults_.find(row.stack);
  if (known != defaults_.end()) return known->second;
  v1::PlanRunRequest request = row.requests.front();
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  SEXTANT_ASSIGN_OR_RETURN(const v1::Plan plan, PlanOf(request));
  StepOverrides& out = defaults_[row.stack];
  for (const v1::StepAssumption& each : plan.step_time().assumptions()) {
    out[each.field()] = each.value();
  }
  return out;
}

absl::StatusOr<StepOverrides> StepAsker::Scaled(const StepRow& row, StepOverrides overrides) {
  if (row.scales.empty()) return overrides;
  SEXTANT_ASSIGN_OR_RETURN(const StepOverrides defaults, DefaultsOf(row));
  for (const auto& [field, factor] : row.scales) {
    const auto given = overrides.find(field);
    const auto own = defaults.find(field);
    if (given != overrides.end()) {
      given->second *= factor;
    } else if (own != defaults.end()) {
      overrides[field] = own->second * factor;
    }
  }
  return overrides;
}

absl::StatusOr<StepPrediction> StepAsker::Ask(const StepRow& row, const StepOverrides& overrides) {
  SEXTANT_ASSIGN_OR_RETURN(StepOverrides used, Scaled(row, overrides));
  const auto given = used.find(kRecomputedShare);
  const bool shared = given != used.end() && row.recompute_blank && row.requests.size() > 1;
  const double point_share = shared ? given->second : row.point_share;
  const double low_share = row.low_share > 0 ? point_share : 0;
  used.erase(kRecomputedShare);
  std::vector<Answer> answers;
  for (const v1::PlanRunRequest& request : row.requests) {
    SEXTANT_ASSIGN_OR_RETURN(Answer answer, AskOne(request, used));
    answers.push_back(std::move(answer));
  }
  const Answer& first = answers.front();
  const Answer& last = answers.back();
  StepPrediction out = {.expected = Between(first.expected, last.expected, point_share),
                        .low = Between(first.low, last.low, low_share),
                        .high = first.high,
                        .span_low = Between(first.expected, last.expected, low_share),
                        .parts = first.parts};
  out.span_high = out.span_low;
  out.centre = out.expected;
  out.high = std::max(out.high, out.low);
  for (const Answer& answer : answers) {
    out.high = std::max(out.high, answer.high);
    out.span_high = std::max(out.span_high, answer.expected);
    if (low_share > 0) continue;
    out.low = std::min(out.low, answer.low);
    out.span_low = std::min(out.span_low, answer.expected);
  }
  if (row.left_open.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(const Answer open, AskOne(*row.left_open, used));
    out.low = open.low;
    out.high = open.high;
    out.centre = open.expected;
  }
  return out;
}

}  // namespace sextant
