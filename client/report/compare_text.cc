#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/flags/plan_flags.h"
#include "client/report/lines.h"
#include "client/report/memory_text.h"
#include "client/report/plan_text.h"
#include "client/report/planned_run.h"
#include "client/report/whole_run_text.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

// True where it fits, and misses neither its deadline nor its budget.
bool IsAllowed(const v1::PlannedRun& run) {
  const bool fits = run.has_plan() && (run.plan().verdict() == v1::VERDICT_FITS ||
                                       run.plan().verdict() == v1::VERDICT_STATE_FITS);
  const v1::TimeEstimate* const estimate = BasisEstimate(run.plan());
  if (!fits || estimate == nullptr) return fits;
  return estimate->deadline().verdict() != v1::LimitCheck::VERDICT_MISSED &&
         estimate->budget().verdict() != v1::LimitCheck::VERDICT_MISSED;
}

// True where some run has a deadline or a budget.
bool AreLimited(const v1::BatchPlanRunsResponse& response) {
  return absl::c_any_of(response.runs(), [](const v1::PlannedRun& run) {
    const v1::TimeEstimate* const estimate = BasisEstimate(run.plan());
    return estimate != nullptr && (estimate->has_deadline() || estimate->has_budget());
  });
}

std::string TimeKindOf(const v1::Plan& plan) {
  const v1::TimeEstimate* const estimate = BasisEstimate(plan);
  return estimate == nullptr ? kNoValue : EstimateWords(estimate->kind());
}

// The kinds of the runs' times: "predicted", "by the textbook".
std::set<std::string> TimeKinds(const v1::BatchPlanRunsResponse& response) {
  std::set<std::string> out;
  for (const v1::PlannedRun& run : response.runs()) out.insert(TimeKindOf(run.plan()));
  out.erase(kNoValue);
  return out;
}

std::string LimitsCell(const v1::Plan& plan) {
  const v1::TimeEstimate* const estimate = BasisEstimate(plan);
  if (estimate == nullptr) return kNoValue;
  const std::optional<LimitState> worst = WorstLimit(*estimate);
  return worst.has_value() ? LimitStateWords(*worst) : kNoValue;
}

// The index of the run of the least of a figure among those that fit; -1 where none has one.
int LeastOf(const v1::BatchPlanRunsResponse& response,
            const std::function<double(const v1::TimeEstimate&)>& figure) {
  int best = -1;
  double least = 0;
  for (int i = 0; i < response.runs_size(); ++i) {
    const v1::TimeEstimate* const estimate = BasisEstimate(response.runs(i).plan());
    if (!IsAllowed(response.runs(i)) || estimate == nullptr) continue;
    const double value = figure(*estimate);
    if (best >= 0 && value >= least) continue;
    best = i;
    least = value;
  }
  return best;
}

bool IsPriced(const v1::BatchPlanRunsResponse& response) {
  for (const v1::PlannedRun& run : response.runs()) {
    const v1::TimeEstimate* const estimate = BasisEstimate(run.plan());
    if (IsAllowed(run) && estimate != nullptr && !estimate->has_cost_usd()) return false;
  }
  return true;
}

struct Marks {
  int fastest = -1;
  int cheapest = -1;  // by device-hours where runs have no price

  std::string Of(int index) const {
    return absl::StrCat(index == fastest ? ">" : "", index == cheapest ? "*" : "");
  }
};

// "accelerator=h100-sxm, tp=4".
std::string NameOf(const Comparison& comparison, int index) {
  const std::vector<std::string>& values = comparison.values[static_cast<size_t>(index)];
  std::vector<std::string> parts;
  for (size_t i = 0; i < values.size(); ++i) {
    parts.push_back(absl::StrCat(comparison.flags[i], "=", values[i]));
  }
  return absl::StrJoin(parts, ", ");
}

std::string RunsTable(const Comparison& comparison, const v1::BatchPlanRunsResponse& response,
                      const Marks& marks) {
  using RunColumn = Column<int>;
  std::vector<RunColumn> columns = {{"", [&](int i) { return marks.Of(i); }}};
  for (size_t flag = 0; flag < comparison.flags.size(); ++flag) {
    columns.push_back({comparison.flags[flag], [&, flag](int i) {
                         return comparison.values[static_cast<size_t>(i)][flag];
                       }});
  }
  columns.push_back({"fits", [&](int i) { return ShortVerdict(response.runs(i)); }});
  const auto add = [&](const char* title, std::string (*cell)(const v1::Plan&)) {
    columns.push_back({title,
                       [&response, cell](int i) {
                         const v1::PlannedRun& run = response.runs(i);
                         return run.has_plan() ? cell(run.plan()) : kNoValue;
                       },
                       kNoValue});
  };
  add(">GiB", [](const v1::Plan& plan) {
    return absl::StrFormat("%.2f", GibOf(plan.memory().peak_bytes().expected()));
  });
  add(">step", StepCell);
  add(">days", DaysCell);
  add(">dev-hours", DeviceHoursCell);
  add(">USD", CostCell);
  add(">MFU", MfuCell);
  add(">limits", LimitsCell);
  if (TimeKinds(response).size() > 1) add(">days are", TimeKindOf);
  std::vector<int> runs(static_cast<size_t>(response.runs_size()));
  std::iota(runs.begin(), runs.end(), 0);
  return TableOf(columns, runs, 0).Text();
}

// Each reason once, with the runs that have it.
std::string RefusalLines(const Comparison& comparison, const v1::BatchPlanRunsResponse& response) {
  constexpr size_t kMaxNamed = 3;
  std::map<std::string, std::vector<int>> runs;
  for (int i = 0; i < response.runs_size(); ++i) {
    if (response.runs(i).has_status()) {
      runs[ReasonOf(response.runs(i).status(), FieldOfRun)].push_back(i);
    }
  }
  std::string out;
  for (const auto& [reason, indices] : runs) {
    std::vector<std::string> names;
    for (const int index : indices) {
      if (names.size() < kMaxNamed) names.push_back(NameOf(comparison, index));
    }
    std::string subject = absl::StrJoin(names, "; ");
    if (indices.size() > kMaxNamed) {
      absl::StrAppend(&subject, " and ", indices.size() - kMaxNamed, " more");
    }
    out += Wrap("refused ", absl::StrCat(subject, ": ", reason), 2);
  }
  return out;
}

// Explains "days" and "state" if some run has them.
std::string MeaningLines(const v1::BatchPlanRunsResponse& response) {
  const std::set<std::string> kinds = TimeKinds(response);
  const bool state = absl::c_any_of(response.runs(), [](const v1::PlannedRun& run) {
    return run.plan().verdict() == v1::VERDICT_STATE_FITS;
  });
  return absl::StrCat(
      kinds.size() == 1 ? Wrap("days ", *kinds.begin(), 2) : "",
      state
          ? Wrap("state ", "model state fits; activations were not counted: do not launch on it", 2)
          : "");
}

// "DEADLINE MISSED by 16.9 days: tp=4 comes nearest" of runs of which none surely meets its limits.
std::string MissLine(const Comparison& comparison, const v1::BatchPlanRunsResponse& response) {
  const int best = BestRun(response);
  if (best < 0) return "";
  const v1::Plan& plan = response.runs(best).plan();
  const std::string misses = MissWords(plan);
  if (misses.empty() || ExitCodeOfPlan(plan) == kExitDoesNotFit) return "";
  return Wrap("", absl::StrCat(misses, ": ", NameOf(comparison, best), " comes nearest"), 2);
}

// The cheapest first where runs have prices.
std::string MarkWords(const Comparison& comparison, const v1::BatchPlanRunsResponse& response,
                      const Marks& marks) {
  const std::string fits = AreLimited(response) ? "fits within its limits" : "fits";
  if (marks.fastest < 0) return absl::StrCat("none of these runs ", fits, "\n");
  const std::string fastest = NameOf(comparison, marks.fastest);
  const std::string cheapest = NameOf(comparison, marks.cheapest);
  return Wrap("",
              IsPriced(response) ? absl::StrCat("* the cheapest that ", fits, ": ", cheapest,
                                                "; > the fastest: ", fastest)
                                 : absl::StrCat("> the fastest that ", fits, ": ", fastest,
                                                "; * the fewest device-hours: ", cheapest),
              2);
}

}  // namespace

std::string CompareText(const Comparison& comparison, const v1::BatchPlanRunsResponse& response,
                        absl::Time now) {
  const bool priced = IsPriced(response);
  const Marks marks = {
      .fastest = LeastOf(response,
                         [](const v1::TimeEstimate& e) { return e.elapsed_seconds().expected(); }),
      .cheapest = LeastOf(response, [priced](const v1::TimeEstimate& e) {
        return priced ? e.cost_usd() : e.device_hours();
      })};
  std::vector<const v1::Plan*> plans;
  for (const v1::PlannedRun& run : response.runs()) {
    if (run.has_plan()) plans.push_back(&run.plan());
  }
  const std::string servers = AssumedNodesWords(plans);
  return absl::StrCat(MissLine(comparison, response), UnreadLines("model ", plans),
                      RunsTable(comparison, response, marks),
                      MarkWords(comparison, response, marks),
                      servers.empty() ? "" : Wrap("servers ", servers, 2), MeaningLines(response),
                      RatesLines("rates ", plans, now), RefusalLines(comparison, response));
}

int BestRun(const v1::BatchPlanRunsResponse& response) {
  constexpr ExitCode kBestFirst[] = {kExitFits, kExitStateFits, kExitTight, kExitLate,
                                     kExitDoesNotFit};
  int best = -1;
  std::tuple<ptrdiff_t, LimitState, double> least;
  for (int i = 0; i < response.runs_size(); ++i) {
    const v1::Plan& plan = response.runs(i).plan();
    const std::optional<ExitCode> code = ExitCodeOfPlan(plan);
    if (!response.runs(i).has_plan() || !code.has_value()) continue;
    const v1::TimeEstimate* const basis = BasisEstimate(plan);
    const std::tuple<ptrdiff_t, LimitState, double> rank = {
        absl::c_find(kBestFirst, *code) - std::begin(kBestFirst),
        basis == nullptr ? LimitState::kMet : WorstLimit(*basis).value_or(LimitState::kMet),
        basis == nullptr ? std::numeric_limits<double>::infinity()
                         : basis->elapsed_seconds().expected()};
    if (best >= 0 && rank >= least) continue;
    best = i;
    least = rank;
  }
  return best;
}

}  // namespace sextant::client
