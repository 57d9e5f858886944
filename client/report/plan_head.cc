#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/flags/plan_flags.h"
#include "client/report/lines.h"
#include "client/report/memory_text.h"
#include "client/report/plan_text.h"
#include "client/report/rates_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "client/text/step_words.h"
#include "client/text/text.h"
#include "proto/words/plan_line.h"

namespace sextant::client {
namespace {

// "19.7 days predicted (18.6 to 22.4); a step takes 3.42 s (3.21 to 3.79), 50.1 % MFU".
std::string PredictedTime(const v1::Plan& plan, const v1::TimeEstimate& cost) {
  std::string out =
      absl::StrCat(DurationToThreeDigits(cost.elapsed_seconds().expected()), " predicted");
  if (IsRange(cost.elapsed_seconds())) {
    absl::StrAppend(&out, " (", DurationEndsText(cost.elapsed_seconds()), ")");
  }
  if (plan.has_step_time()) {
    absl::StrAppend(&out, "; a step takes ", TimeIntervalText(plan.step_time().seconds()));
    const v1::StepCalibration& measured = plan.step_time().calibration();
    if (measured.applied()) {
      absl::StrAppend(&out, ", ", absl::StrFormat("%.3g", measured.factor()),
                      " times the prediction as the measured step says");
    }
  }
  return cost.has_mfu() ? absl::StrCat(out, ", ", ShareText(cost.mfu()), " % MFU") : out;
}

// The textbook's guess adds nothing to a prediction.
std::string HeadlineTime(const v1::Plan& plan) {
  std::vector<std::string> times;
  const auto seconds = [](const v1::TimeEstimate& e) {
    return Duration(e.elapsed_seconds().expected());
  };
  const auto* const predicted = EstimateOf(plan, v1::ESTIMATE_KIND_PREDICTED);
  if (predicted != nullptr) times.push_back(PredictedTime(plan, *predicted));
  if (const auto* const e = EstimateOf(plan, v1::ESTIMATE_KIND_MEASURED_BOUND)) {
    times.push_back(absl::StrCat(seconds(*e), " at the measured rate"));
  }
  if (const auto* const e = EstimateOf(plan, v1::ESTIMATE_KIND_LOWER_BOUND)) {
    times.push_back(absl::StrCat("at least ", seconds(*e), " (lower bound)"));
  }
  const auto* const textbook = EstimateOf(plan, v1::ESTIMATE_KIND_TEXTBOOK);
  if (textbook != nullptr && predicted == nullptr) {
    times.push_back(absl::StrCat(
        seconds(*textbook), " by the textbook",
        textbook->has_mfu() ? absl::StrCat(" at ", Percent(textbook->mfu()), " MFU") : ""));
  }
  return times.empty() ? "unknown: no rate of these devices is known" : absl::StrJoin(times, "; ");
}

std::string LayoutWordsOf(const v1::LayoutSearchResult& search) {
  const v1::LayoutOption& chosen = search.chosen();
  const bool named = chosen.layout().framework().kind() != v1::FrameworkMemory::KIND_UNSPECIFIED;
  const v1::PipelineSchedule schedule = chosen.layout().schedule();
  const bool own_schedule = schedule != v1::PIPELINE_SCHEDULE_UNSPECIFIED &&
                            schedule != v1::PIPELINE_SCHEDULE_ONE_FORWARD_ONE_BACKWARD;
  return absl::StrCat(LayoutFlags(chosen), ": ",
                      search.evaluated_count() == 0
                          ? "takes the least memory"
                          : absl::StrCat("the fastest of ", Grouped(search.evaluated_count())),
                      named ? "" : " of megatron-lm",
                      !named && own_schedule ? " but for its schedule" : "",
                      named ? "" : ", since no --framework is given");
}

// The estimate that limits are judged by; else the best that there is.
const v1::TimeEstimate* BasisOf(const v1::Plan& plan) {
  for (const v1::EstimateKind kind :
       {plan.whole_run().basis(), v1::ESTIMATE_KIND_PREDICTED, v1::ESTIMATE_KIND_TEXTBOOK}) {
    if (const v1::TimeEstimate* const found = EstimateOf(plan, kind)) return found;
  }
  return plan.estimates().empty() ? nullptr : &plan.estimates(0);
}

// "1,788,139 steps, 3,840,000 device-hours, 7,680,000 USD, 2.7 GWh"; ", by the textbook" and the
// like where nothing is predicted.
std::string CostWords(const v1::Plan& plan) {
  std::vector<std::string> out;
  if (plan.whole_run().has_step_count()) {
    out.push_back(absl::StrCat(Grouped(plan.whole_run().step_count()), " steps"));
  }
  if (const v1::TimeEstimate* const basis = BasisOf(plan)) {
    out.push_back(absl::StrCat(DeviceHours(basis->device_hours())));
    if (basis->has_cost_usd()) out.push_back(absl::StrCat(Grouped(basis->cost_usd(), 2), " USD"));
    if (basis->has_energy_joules()) out.push_back(Energy(basis->energy_joules()));
    if (basis->kind() != v1::ESTIMATE_KIND_PREDICTED) out.push_back(EstimateWords(basis->kind()));
  }
  return absl::StrJoin(out, ", ");
}

// "peak flops" of peak_flops_per_second: the words before its unit.
std::string ShortQuantity(const v1::RateUsed& rate) {
  return Words(
      absl::StrReplaceAll(rate.quantity(), {{"_per_second", ""}, {"_bytes", ""}, {"_watts", ""}}));
}

// " 12 days ago"; "" of what was not measured.
template <typename Measured>
std::string MeasuredAge(const Measured& measured, absl::Time now) {
  if (!measured.has_measured_time()) return "";
  return absl::StrCat(" ", AgeText(AgeSeconds(measured.measured_time(), now)));
}

// "kernels", or "kernels (97 %)" of sources that share the time with others; without shares "some
// kernels" of all but the largest. Those of a fleet's devices are scaled, whatever their source.
void AddKernels(const v1::Plan& plan, absl::Time now, KernelShares shares, WordGroups* out) {
  const v1::StepTime& step = plan.step_time();
  const char* const name =
      plan.fleet().device_count() > 0 ? "kernels scaled to the fleet's rates" : "kernels";
  std::vector<v1::KernelTimeSource> kinds;  // one of each kind of source
  for (const v1::KernelTimeSource& each : step.kernel_sources()) {
    const auto same = absl::c_find_if(
        kinds, [&each](const v1::KernelTimeSource& k) { return k.source() == each.source(); });
    if (same == kinds.end()) {
      kinds.push_back(each);
    } else {
      same->set_share(same->share() + each.share());
    }
  }
  absl::c_stable_sort(kinds, [](const auto& a, const auto& b) { return a.share() > b.share(); });
  for (const v1::KernelTimeSource& each : kinds) {
    const bool says = shares == KernelShares::kSaid && kinds.size() > 1;
    const bool some = shares == KernelShares::kLeftOut && &each != &kinds.front();
    const std::string share = says ? absl::StrCat(" (", ShareText(each.share()), " %)") : "";
    out->Add(Words(EnumName(each.source())),
             absl::StrCat(some ? "some " : "", name, share, MeasuredAge(each, now)));
  }
}

// Warnings that put the whole answer in doubt come first.
int RankOf(const v1::Note& warning) {
  constexpr v1::NoteKind kRanked[] = {v1::NOTE_KIND_FLEET_UNREAD,
                                      v1::NOTE_KIND_FLEET_DEVICES_UNHEALTHY,
                                      v1::NOTE_KIND_RATE_UNSTABLE,
                                      v1::NOTE_KIND_MEASURED_ABOVE_PEAK,
                                      v1::NOTE_KIND_CALIBRATION_PARTIAL,
                                      v1::NOTE_KIND_TEXT_MODEL_ALONE,
                                      v1::NOTE_KIND_BASE_TRAINED,
                                      v1::NOTE_KIND_TENSOR_ACROSS_SERVERS,
                                      v1::NOTE_KIND_FEW_MICRO_BATCHES,
                                      v1::NOTE_KIND_STEP_NOT_PREDICTED,
                                      v1::NOTE_KIND_ACTIVATIONS_NOT_COUNTED,
                                      v1::NOTE_KIND_FLEET_STALE};
  return static_cast<int>(absl::c_find(kRanked, warning.kind()) - std::begin(kRanked));
}

// The worst warning, but those that the lines of servers and limits tell.
std::string WarningWords(const v1::Plan& plan) {
  std::vector<const v1::Note*> warnings;
  for (const v1::Note& each : plan.warnings()) {
    const bool told = each.kind() == v1::NOTE_KIND_DEADLINE_MISSED ||
                      each.kind() == v1::NOTE_KIND_BUDGET_EXCEEDED ||
                      each.kind() == v1::NOTE_KIND_NODES_ASSUMED;
    if (!told) warnings.push_back(&each);
  }
  if (warnings.empty()) return "";
  const v1::Note& worst = **absl::c_min_element(
      warnings, [](const v1::Note* a, const v1::Note* b) { return RankOf(*a) < RankOf(*b); });
  const size_t others = warnings.size() - 1;
  return absl::StrCat(NoteText(worst, PlanFieldWords),
                      others > 0 ? absl::StrCat(" (and ", others, " more)") : "");
}

// The verdict, missed limits, what decides them, and the run.
std::string HeadLine(const v1::Plan& plan, size_t width) {
  constexpr size_t kHang = 10;  // as below the text after "  memory  "
  const std::string misses = MissWords(plan);
  return Wrap("",
              absl::StrCat(VerdictWords(plan.verdict()), misses.empty() ? "" : ", ", misses, ": ",
                           HostVerdictText(plan.memory()), ModelWords(plan), ", ",
                           Counted(plan.token_count(), "token"), ", ", Grouped(plan.device_count()),
                           " x ", plan.device(), words::FleetFallbackWords(plan)),
              kHang, width);
}

constexpr size_t kMaxLines = 3;  // of a line that a brief text cuts

// The lines of a plan's head down to its limits. A brief head cuts long ones, and does not say what
// was counted.
std::string DecidingLines(const v1::Plan& plan, bool brief, size_t width) {
  const auto cut = [&](const char* label, const std::string& text) {
    const std::string line = Line(label, text, width);
    return brief ? FirstLines(line, kMaxLines) : line;
  };
  const v1::TimeEstimate* const basis = BasisEstimate(plan);
  return absl::StrCat(
      HeadLine(plan, width),
      Line("  model   ", UnreadFieldsWords(plan.unread_config_fields()), width),
      Line("  servers ", AssumedNodesWords({&plan}), width),
      cut("  layout  ", plan.has_search() ? LayoutWordsOf(plan.search()) : ""),
      MemoryLine(plan, width), Line("  open    ", words::OpenChoicesWords(plan), width),
      brief ? "" : CountsLine(plan, width), cut("  change  ", NearestChange(plan)),
      cut("  time    ", HeadlineTime(plan)), Line("  run     ", CostWords(plan), width),
      Line("  limits  ", basis == nullptr ? "" : LimitWords(*basis), width));
}

}  // namespace

std::string EstimateWords(v1::EstimateKind kind) {
  static constexpr Worded<v1::EstimateKind> kWords[] = {
      {v1::ESTIMATE_KIND_TEXTBOOK, "by the textbook"},
      {v1::ESTIMATE_KIND_MEASURED_BOUND, "at the measured rate"},
      {v1::ESTIMATE_KIND_LOWER_BOUND, "at peak"}};
  return WordsOf(kWords, kind);
}

std::string RatesWords(const v1::Plan& plan, absl::Time now, KernelShares shares) {
  WordGroups out;
  AddKernels(plan, now, shares, &out);
  for (const v1::RateUsed& rate : plan.rates()) {
    const bool unstable = rate.has_stable() && !rate.stable();
    out.Add(
        Words(EnumName(rate.source())),
        absl::StrCat(ShortQuantity(rate), MeasuredAge(rate, now), unstable ? " (unstable)" : ""));
  }
  return out.Text();
}

std::string AssumedNodesWords(const std::vector<const v1::Plan*>& plans) {
  std::vector<std::string> all;
  for (const v1::Plan* const plan : plans) {
    for (const v1::Note& note : plan->warnings()) {
      if (note.kind() != v1::NOTE_KIND_NODES_ASSUMED) continue;
      std::string names = absl::StrJoin(note.names(), ", ");
      if (!absl::c_linear_search(all, names)) all.push_back(std::move(names));
    }
  }
  return all.empty() ? "" : absl::StrCat("assumed ", absl::StrJoin(all, "; "));
}

std::string PlanHead(const v1::Plan& plan, absl::Time now, size_t width) {
  return absl::StrCat(DecidingLines(plan, false, width),
                      Line("  rates   ", RatesWords(plan, now), width),
                      Line("  warning ", WarningWords(plan), width));
}

std::string BriefSearch(const v1::Plan& plan, size_t width) {
  constexpr size_t kMaxLayouts = 5;
  const std::string head = DecidingLines(plan, true, width);
  const std::string warning = Line("  warning ", WarningWords(plan), width);
  const std::string more =
      Line("  more    ", "-v: more layouts, time against memory, rates; --svg=FILE; --output=json",
           width);
  const size_t used = LinesIn(head) + LinesIn(more) + (warning.empty() ? 0 : 1);
  constexpr size_t kTableHead = 2;
  const std::string best = BestLayouts(plan, LinesLeft(used + kTableHead, 1, kMaxLayouts), width);
  return absl::StrCat(head, FirstLines(warning, LinesLeft(used - 1 + LinesIn(best), 1, kMaxLines)),
                      best, more);
}

std::string BriefPlan(const v1::Plan& plan, absl::Time now, size_t width) {
  return absl::StrCat(PlanHead(plan, now, width),
                      Line("  more    ",
                           "-v: all tables, sources and assumptions; --explain: what takes the "
                           "time; --output=json",
                           width));
}

const v1::TimeEstimate* EstimateOf(const v1::Plan& plan, v1::EstimateKind kind) {
  const auto found = absl::c_find_if(
      plan.estimates(), [kind](const v1::TimeEstimate& e) { return e.kind() == kind; });
  return found == plan.estimates().end() ? nullptr : &*found;
}

bool IsRange(const v1::Interval& interval) { return interval.low() < interval.high(); }

}  // namespace sextant::client
