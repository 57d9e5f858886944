#include "tests/validation/step_prediction.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "tests/validation/service.h"

namespace sextant {
namespace {

constexpr double kBaselineMfu = 0.45;  // as requests of StepRowOf() assume

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

double StepPrediction::PositionOf(double measured) const {
  return std::log(measured / centre) /
         std::abs(std::log((measured < centre ? low : high) / centre));
}

absl::StatusOr<StepAsker::Answer> StepAsker::AskOne(v1::PlanRunRequest request,
                                                    const StepOverrides& overrides) {
  Set(overrides, *request.mutable_layout()->mutable_software());
  const std::string key = request.SerializeAsString();
  const auto known = answers_.find(key);
  if (known != answers_.end()) return known->second;
  ++calls_;
  SEXTANT_ASSIGN_OR_RETURN(const v1::PlanRunResponse response, AskForPlan(request));
  if (!response.plan().has_step_time()) {
    return absl::FailedPreconditionError(WhyNot(response.plan()));
  }
  const v1::StepTime& time = response.plan().step_time();
  Answer out = {.expected = time.seconds().expected(),
                .low = time.seconds().low(),
                .high = time.seconds().high()};
  for (const v1::StepPart& part : time.parts()) {
    out.parts.emplace_back(CauseName(part.cause()), part.seconds());
  }
  answers_.emplace(key, out);
  return out;
}

// Fields that the row scales: of the value given, else of the stack's own.
absl::StatusOr<StepOverrides> StepAsker::Scaled(const StepRow& row, StepOverrides overrides) {
  if (row.scales.empty()) return overrides;
  const std::string key = absl::StrCat(row.stack, "/", row.accelerator, "/", row.format);
  if (!defaults_.contains(key)) {
    v1::PlanRunRequest request = row.requests.front();
    request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
    SEXTANT_ASSIGN_OR_RETURN(const v1::PlanRunResponse response, AskForPlan(request));
    StepOverrides& values = defaults_[key];
    for (const v1::StepAssumption& each : response.plan().step_time().assumptions()) {
      values[each.field()] = each.value();
    }
  }
  const StepOverrides& defaults = defaults_[key];
  for (const StepScale& scale : row.scales) {
    const auto given = overrides.find(scale.field);
    const auto own = defaults.find(scale.field);
    if (given != overrides.end()) {
      given->second *= scale.factor;
    } else if (own != defaults.end()) {
      overrides[scale.field] = own->second * scale.factor;
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
                        .span_high = first.expected,
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

absl::StatusOr<StepBaselines> StepBaselinesOf(const StepRow& row) {
  SEXTANT_ASSIGN_OR_RETURN(const v1::PlanRunResponse response, AskForPlan(row.requests.front()));
  StepBaselines out;
  for (const v1::TimeEstimate& estimate : response.plan().estimates()) {
    const double seconds = estimate.duration_seconds().expected();
    if (estimate.kind() == v1::ESTIMATE_KIND_TEXTBOOK) out.constant_mfu = seconds;
    if (estimate.kind() == v1::ESTIMATE_KIND_LOWER_BOUND) out.roofline = seconds;
  }
  out.ideal = kBaselineMfu * out.constant_mfu;
  return out;
}

absl::Status CloseRecomputation(StepRow& row) {
  if (!row.recompute_blank) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(const v1::PlanRunResponse response, AskForPlan(row.requests.front()));
  const bool fits = response.plan().verdict() != v1::VERDICT_DOES_NOT_FIT;
  if (fits && row.likely_none) {
    row.requests.resize(row.requests.size() / 2);
    return absl::OkStatus();
  }
  row.open.push_back(fits ? "recomputation" : "recomputation, some");
  if (!fits) row.low_share = row.point_share;
  return absl::OkStatus();
}

void LeaveOpen(StepRow& row) {
  const bool known = std::all_of(row.open.begin(), row.open.end(), [](const std::string& open) {
    return open == "interleaving" || open == "recomputation" || open == "recomputation, some";
  });
  // Uneven chunks have to be given.
  const bool uneven = row.requests.front().layout().parallel().layers_per_chunk_size() > 0;
  if (row.open.empty() || !known || uneven) return;
  v1::PlanRunRequest request = row.requests.front();
  if (row.recompute_blank && row.requests.size() > 1) request.mutable_training()->clear_recompute();
  v1::ParallelLayout& parallel = *request.mutable_layout()->mutable_parallel();
  if (row.open.front() == "interleaving") parallel.clear_virtual_stage_count();
  row.left_open = std::move(request);
}

}  // namespace sextant
