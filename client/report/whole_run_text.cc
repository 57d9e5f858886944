#include "client/report/whole_run_text.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/lines.h"
#include "client/text/amounts.h"
#include "client/text/step_words.h"
#include "client/text/text.h"
#include "proto/words/plan_line.h"

namespace sextant::client {
namespace {

LimitState StateOf(const v1::LimitCheck& limit) {
  const bool met = limit.verdict() == v1::LimitCheck::VERDICT_MET;
  // Half a normal distribution on each side: a tenth lies beyond each end of an 80 % interval.
  constexpr double kBeyondAnEnd = 0.1;
  const double chance = limit.has_chance() ? limit.chance() : met ? 1 : 0;
  if (met) return chance < 1 - kBeyondAnEnd ? LimitState::kMayBeMissed : LimitState::kMet;
  return chance < kBeyondAnEnd ? LimitState::kMissed : LimitState::kLikelyMissed;
}

struct NamedLimit {
  const char* name;
  const v1::LimitCheck& check;
  std::string margin;
};

std::vector<NamedLimit> LimitsOf(const v1::TimeEstimate& estimate) {
  std::vector<NamedLimit> out;
  if (estimate.has_deadline()) {
    out.push_back({"deadline", estimate.deadline(),
                   DurationToThreeDigits(std::abs(estimate.deadline().margin()))});
  }
  if (estimate.has_budget()) {
    out.push_back({"budget", estimate.budget(),
                   absl::StrCat(Grouped(std::abs(estimate.budget().margin()), 2), " USD")});
  }
  return out;
}

bool IsMiss(LimitState state) { return state >= LimitState::kLikelyMissed; }

std::string CheckWords(const NamedLimit& limit) {
  const LimitState state = StateOf(limit.check);
  const char* const words = LimitStateWords(state);
  std::string out = IsMiss(state)
                        ? absl::StrCat(limit.name, " ", words, " by ", limit.margin)
                        : absl::StrCat(limit.name, " ", words, ", ", limit.margin, " to spare");
  if (limit.check.has_chance()) {
    absl::StrAppend(&out, ", chance ", ShareText(limit.check.chance()), " %");
  }
  return out;
}

// "1.41 TB".
std::string DecimalBytes(int64_t bytes) { return Scaled(static_cast<double>(bytes), "B"); }

using Rows = std::vector<std::vector<std::string>>;

void AddSteps(const v1::WholeRun& run, Rows& rows) {
  if (run.has_step_count()) rows.push_back({"steps", Grouped(run.step_count()), ""});
  std::vector<std::string> lost;
  const auto add = [&lost](double share, const char* what) {
    if (share > 0) lost.push_back(absl::StrCat(what, " ", ShareText(share), " %"));
  };
  add(run.checkpoint_share(), "checkpoints");
  add(run.failure_share(), "failures");
  add(run.stall_share(), "stalls");
  if (!lost.empty()) {
    rows.push_back(
        {"goodput", absl::StrCat(ShareText(run.goodput_ratio()), " %"), absl::StrJoin(lost, ", ")});
  }
  if (run.has_mean_time_between_failures_seconds()) {
    const std::string each = absl::StrCat(
        "one in ", DurationToThreeDigits(run.mean_time_between_failures_seconds()), " on average");
    rows.push_back({"failures", absl::StrFormat("%.3g", run.expected_failure_count()), each});
  }
  if (run.has_recommended_time_limit_seconds()) {
    rows.push_back({"time limit", Duration(run.recommended_time_limit_seconds()),
                    "for the scheduler: 9 in 10 runs end within it"});
  }
}

void AddCheckpoint(const v1::CheckpointPlan& checkpoint, Rows& rows) {
  std::vector<std::string> terms;
  for (const v1::CheckpointPlan::Term& term : checkpoint.terms()) {
    terms.push_back(absl::StrCat(Words(term.name()), " ", DecimalBytes(term.size_bytes())));
  }
  rows.push_back({"checkpoint", DecimalBytes(checkpoint.size_bytes()), absl::StrJoin(terms, ", ")});
  if (checkpoint.has_interval_seconds()) {
    std::string how =
        absl::StrCat("a write takes ", DurationToThreeDigits(checkpoint.write_seconds()),
                     ", stalls ", DurationToThreeDigits(checkpoint.stall_seconds()));
    if (checkpoint.has_daly_interval_seconds()) {
      absl::StrAppend(&how, "; Daly ", DurationToThreeDigits(checkpoint.daly_interval_seconds()),
                      ", Young ", DurationToThreeDigits(checkpoint.young_interval_seconds()));
    }
    rows.push_back({"written every", DurationToThreeDigits(checkpoint.interval_seconds()), how});
  }
  std::string read = absl::StrCat("by all devices, at most ",
                                  DecimalBytes(checkpoint.resume_read_bytes_per_device()), " each");
  if (checkpoint.has_resume_read_seconds()) {
    absl::StrAppend(&read, ", in ", DurationToThreeDigits(checkpoint.resume_read_seconds()));
  }
  rows.push_back({"a resume reads", DecimalBytes(checkpoint.resume_read_bytes()), read});
}

void AddData(const v1::DataLoading& data, Rows& rows) {
  std::string how = absl::StrCat(data.bytes_per_token_id(), " bytes a token");
  if (data.has_read_bytes_per_second()) {
    absl::StrAppend(&how, ", read at ", DecimalBytes(std::llround(data.read_bytes_per_second())),
                    "/s");
  }
  rows.push_back({"token file", DecimalBytes(data.token_file_bytes()), how});
  if (!data.has_device_copy_seconds()) return;
  rows.push_back(
      {"ids to a device", TimeToThreeDigits(data.device_copy_seconds()),
       absl::StrCat("a step, ", DecimalBytes(data.device_step_bytes()), " from pinned memory")});
}

void AddTelemetry(const v1::TelemetryPlan& telemetry, Rows& rows) {
  if (!telemetry.has_planned_mfu()) return;
  rows.push_back({"telemetry", absl::StrCat(Plain(telemetry.model_flops_per_token()), " FLOP"),
                  absl::StrCat("a token, MFU ", Plain(telemetry.planned_mfu()), " of ",
                               Plain(telemetry.peak_flops_per_second()), " FLOP/s in ",
                               EnumName(telemetry.compute_data_type()))});
}

}  // namespace

const v1::TimeEstimate* BasisEstimate(const v1::Plan& plan) {
  for (const v1::TimeEstimate& each : plan.estimates()) {
    if (each.kind() == plan.whole_run().basis()) return &each;
  }
  return nullptr;
}

std::optional<LimitState> WorstLimit(const v1::TimeEstimate& estimate) {
  std::optional<LimitState> out;
  for (const NamedLimit& limit : LimitsOf(estimate)) {
    out = std::max(out.value_or(LimitState::kMet), StateOf(limit.check));
  }
  return out;
}

bool MissesLimit(const v1::Plan& plan) {
  const v1::TimeEstimate* const basis = BasisEstimate(plan);
  return basis != nullptr && IsMiss(WorstLimit(*basis).value_or(LimitState::kMet));
}

const char* LimitStateWords(LimitState state) {
  constexpr const char* kWords[] = {"met", "may be missed", "likely missed", "missed"};
  return kWords[static_cast<size_t>(state)];
}

std::string MissWords(const v1::Plan& plan) {
  const v1::TimeEstimate* const basis = BasisEstimate(plan);
  if (basis == nullptr) return "";
  std::vector<std::string> out;
  for (const NamedLimit& limit : LimitsOf(*basis)) {
    const LimitState state = StateOf(limit.check);
    if (state == LimitState::kMet) continue;
    const std::string words = absl::StrCat(limit.name, " ", LimitStateWords(state));
    out.push_back(absl::StrCat(absl::AsciiStrToUpper(words), IsMiss(state) ? " by " : "",
                               IsMiss(state) ? limit.margin : ""));
  }
  return absl::StrJoin(out, ", ");
}

std::string VerdictLine(const v1::Plan& plan) {
  const std::string misses = MissWords(plan);
  return absl::StrCat(words::PlanLine(plan, {.misses = misses}), "\n");
}

std::string LimitWords(const v1::TimeEstimate& estimate) {
  std::vector<std::string> out;
  for (const NamedLimit& limit : LimitsOf(estimate)) out.push_back(CheckWords(limit));
  return absl::StrJoin(out, "; ");
}

std::string WholeRunSection(const v1::Plan& plan) {
  if (!plan.has_whole_run()) return "";
  const v1::WholeRun& run = plan.whole_run();
  Rows rows;
  AddSteps(run, rows);
  AddCheckpoint(run.checkpoint(), rows);
  if (run.has_data_loading()) AddData(run.data_loading(), rows);
  if (run.has_slowest_device()) {
    const v1::SlowestDevice& slowest = run.slowest_device();
    std::string what = absl::StrCat("of the run, ", DurationToThreeDigits(slowest.saved_seconds()));
    if (slowest.has_saved_cost_usd()) {
      absl::StrAppend(&what, " and ", Grouped(slowest.saved_cost_usd(), 2), " USD");
    }
    rows.push_back({"slowest device", absl::StrCat(ShareText(slowest.saved_share()), " %"),
                    absl::StrCat(what, ", would be saved without ", slowest.uuid(),
                                 slowest.hostname().empty() ? "" : " on ", slowest.hostname())});
  }
  AddTelemetry(run.telemetry(), rows);
  Table table = Titled({"", ">", ""});
  for (std::vector<std::string>& row : rows) table.AddRow(std::move(row));
  return absl::StrCat("\nWhole run\n", table.Text());
}

std::optional<ExitCode> ExitCodeOfVerdict(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return kExitFits;
    case v1::VERDICT_DOES_NOT_FIT:
      return kExitDoesNotFit;
    case v1::VERDICT_TIGHT:
      return kExitTight;
    case v1::VERDICT_STATE_FITS:
      return kExitStateFits;
    default:
      return std::nullopt;
  }
}

std::optional<ExitCode> ExitCodeOfPlan(const v1::Plan& plan) {
  const std::optional<ExitCode> fits = ExitCodeOfVerdict(plan.verdict());
  if (!fits.has_value() || *fits == kExitDoesNotFit || !MissesLimit(plan)) return fits;
  return kExitLate;
}

ExitCode ExitCodeOfMiss(v1::SizeLimit limit) {
  const bool late = limit == v1::SIZE_LIMIT_DEADLINE || limit == v1::SIZE_LIMIT_BUDGET;
  return late ? kExitLate : kExitDoesNotFit;
}

}  // namespace sextant::client
