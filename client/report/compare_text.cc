#include "client/report/compare_text.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/flags/plan_flags.h"
#include "client/report/memory_text.h"
#include "client/report/plan_head.h"
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

constexpr double kGib = 1 << 30;

// A column of figures: its cell of a run with a plan, "" for none.
struct Column {
  const char* title;
  std::function<std::string(const v1::PlannedRun&)> cell;
};

std::string OfEstimate(const v1::PlannedRun& run,
                       const std::function<std::string(const v1::TimeEstimate&)>& cell) {
  const v1::TimeEstimate* const estimate = BasisEstimate(run.plan());
  return estimate == nullptr ? "" : cell(*estimate);
}

std::vector<Column> Columns() {
  const auto estimate = [](auto cell) {
    return [cell](const v1::PlannedRun& run) { return OfEstimate(run, cell); };
  };
  using Estimate = v1::TimeEstimate;
  return {
      {"GiB",
       [](const v1::PlannedRun& run) {
         return absl::StrFormat("%.2f", run.plan().memory().peak_bytes().expected() / kGib);
       }},
      {"step",
       [](const v1::PlannedRun& run) {
         const v1::Plan& plan = run.plan();
         return plan.has_step_time() ? TimeToThreeDigits(plan.step_time().seconds().expected())
                                     : std::string();
       }},
      {"days",
       estimate([](const Estimate& e) { return DaysText(e.elapsed_seconds().expected()); })},
      {"dev-hours", estimate([](const Estimate& e) { return ShortNumber(e.device_hours()); })},
      {"USD", estimate([](const Estimate& e) {
         return e.has_cost_usd() ? ShortNumber(e.cost_usd()) : std::string();
       })},
      {"MFU", estimate([](const Estimate& e) {
         return e.has_mfu() ? absl::StrFormat("%.1f %%", 100 * e.mfu()) : std::string();
       })},
      {"limits", estimate([](const Estimate& e) {
         const std::optional<LimitState> worst = WorstLimit(e);
         return worst.has_value() ? std::string(LimitStateWords(*worst)) : std::string();
       })},
  };
}

std::string TimeKindOf(const v1::PlannedRun& run) {
  return OfEstimate(run, [](const v1::TimeEstimate& e) { return EstimateWords(e.kind()); });
}

// The kinds of the runs' times: "predicted", "by the textbook".
std::set<std::string> TimeKinds(const v1::BatchPlanRunsResponse& response) {
  std::set<std::string> out;
  for (const v1::PlannedRun& run : response.runs()) {
    if (std::string kind = TimeKindOf(run); !kind.empty()) out.insert(std::move(kind));
  }
  return out;
}

// The columns that have a value in some run.
std::vector<Column> UsedColumns(const v1::BatchPlanRunsResponse& response) {
  std::vector<Column> out;
  for (Column& column : Columns()) {
    for (const v1::PlannedRun& run : response.runs()) {
      if (!run.has_plan() || column.cell(run).empty()) continue;
      out.push_back(std::move(column));
      break;
    }
  }
  if (TimeKinds(response).size() > 1) out.push_back({"days are", TimeKindOf});
  return out;
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
  const std::vector<Column> columns = UsedColumns(response);
  std::vector<Align> aligned(2 + comparison.flags.size() + columns.size(), Align::kRight);
  std::fill_n(aligned.begin(), 2 + comparison.flags.size(), Align::kLeft);
  Table table(0, std::move(aligned));
  std::vector<std::string> head = {""};
  head.insert(head.end(), comparison.flags.begin(), comparison.flags.end());
  head.emplace_back("fits");
  for (const Column& column : columns) head.emplace_back(column.title);
  table.AddRow(std::move(head));
  for (int i = 0; i < response.runs_size(); ++i) {
    const std::vector<std::string>& values = comparison.values[static_cast<size_t>(i)];
    std::vector<std::string> cells = {marks.Of(i)};
    cells.insert(cells.end(), values.begin(), values.end());
    cells.emplace_back(ShortVerdict(response.runs(i)));
    for (const Column& column : columns) {
      std::string cell = response.runs(i).has_plan() ? column.cell(response.runs(i)) : "";
      cells.push_back(cell.empty() ? kNoValue : std::move(cell));
    }
    table.AddRow(std::move(cells));
  }
  return table.Text();
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
