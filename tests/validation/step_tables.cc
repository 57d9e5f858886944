#include "tests/validation/step_tables.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/validation/step_causes.h"
#include "tests/validation/step_sweeps.h"

namespace sextant {
namespace {

std::string Share(double share) { return absl::StrFormat("%.1f", 100 * share); }
std::string Signed(double share) { return absl::StrFormat("%+.1f", 100 * share); }
std::string Whole(double share) { return absl::StrFormat("%.0f", 100 * share); }

absl::optional<double> InSight(const StepCase& each) { return each.Error(); }

// Of a map of predictions, or of seconds; absent where it lacks the case.
StepError ErrorIn(const std::map<const StepCase*, StepPrediction>& predictions) {
  return [&predictions](const StepCase& each) -> absl::optional<double> {
    const auto found = predictions.find(&each);
    if (found == predictions.end()) return absl::nullopt;
    return found->second.ErrorOf(each.row.measured);
  };
}

StepError ErrorIn(const std::map<const StepCase*, double>& seconds) {
  return [&seconds](const StepCase& each) -> absl::optional<double> {
    const auto found = seconds.find(&each);
    if (found == seconds.end()) return absl::nullopt;
    return found->second / each.row.measured - 1;
  };
}

absl::optional<double> ConstantMfu(const StepCase& each) {
  if (each.baselines.constant_mfu <= 0) return absl::nullopt;
  return each.baselines.constant_mfu / each.row.measured - 1;
}

absl::optional<double> DatasheetRoof(const StepCase& each) {
  if (each.baselines.roofline <= 0) return absl::nullopt;
  return each.baselines.roofline / each.row.measured - 1;
}

std::string Numbers(const StepScore& score) {
  if (score.count == 0) return "0 | | | | |";
  return absl::StrCat(score.count, " | ", Share(score.median), " / ", Share(score.p90), " | ",
                      Signed(score.bias), " | ", Whole(score.within_10), " | ",
                      Whole(score.within_20), " |");
}

std::string Pair(const StepScore& score) {
  if (score.count == 0) return "";
  return absl::StrCat(Share(score.median), " / ", Share(score.p90));
}

struct Rows {
  std::string name;
  StepGroup group;
};

std::vector<Rows> RowsOfSummary(const std::vector<StepCase>& cases) {
  const auto dense = [](const StepCase& each) { return !each.row.experts; };
  const auto closed = [](const StepCase& each) {
    return !each.row.experts && each.row.open.empty();
  };
  std::vector<Rows> out = {{"dense, nothing open", Where(cases, closed)},
                           {"dense, all", Where(cases, dense)}};
  for (const StepClass one :
       {StepClass::kWide, StepClass::kNarrow, StepClass::kOpen, StepClass::kExperts}) {
    out.push_back({ClassName(one), Where(cases, [one](const StepCase& each) {
                     return each.row.step_class() == one;
                   })});
  }
  return out;
}

std::string ColumnOf(const StepRow& row, const std::string& column) {
  if (column == "source") return row.source;
  if (column == "hardware") return row.hardware;
  if (column == "framework") return row.framework;
  if (column == "format") return row.format;
  return row.strategy;
}

std::string PartsOf(const StepPrediction& predicted) {
  double total = 0;
  for (const auto& [name, seconds] : predicted.parts) total += seconds;
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, seconds] : predicted.parts) sorted.emplace_back(-seconds, name);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> out;
  for (const auto& [seconds, name] : sorted) {
    if (out.size() == 4) break;
    out.push_back(absl::StrCat(name, " ", Whole(-seconds / total)));
  }
  return absl::StrJoin(out, ", ");
}

// Coverage of a class by the service's own intervals: in sight, and moved to left-out predictions.
struct Coverage {
  double in_sight = 0;
  double left_out = 0;
};

Coverage CoverageOf(const StepGroup& group, const StepResults& results) {
  Coverage out;
  double count = 0;
  for (const StepCase* each : group) {
    const auto found = results.folds.left_out.find(each);
    if (found == results.folds.left_out.end()) continue;
    ++count;
    out.in_sight += each->predicted.Covers(each->row.measured) ? 1 : 0;
    out.left_out += found->second.Covers(each->row.measured) ? 1 : 0;
  }
  if (count > 0) out = {out.in_sight / count, out.left_out / count};
  return out;
}

void AddBand(const Rows& rows, const StepBand& band, const Coverage& coverage, std::string& out) {
  absl::StrAppendFormat(&out, "| %s | %d | %d | %+.3f | %+.3f | %s | %s |\n", rows.name, band.rows,
                        band.families, band.low, band.high, Whole(coverage.in_sight),
                        Whole(coverage.left_out));
}

}  // namespace

std::string SummaryTable(const StepResults& results) {
  std::string out =
      "| rows | rows | median / p90 % | bias % | within 10 % | within 20 % | one vote a family |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  const StepError error = ErrorIn(results.folds.left_out);
  for (const Rows& rows : RowsOfSummary(results.rows.cases)) {
    absl::StrAppend(&out, "| ", rows.name, " | ", Numbers(ScoreOf(rows.group, error)), " ",
                    Pair(FamilyScoreOf(rows.group, error)), " |\n");
  }
  return out;
}

std::string OtherWaysTable(const StepResults& results) {
  const std::pair<const char*, StepError> kHow[] = {
      {"family left out", ErrorIn(results.folds.left_out)},
      {"in sight", InSight},
      {"neutral constants", ErrorIn(results.folds.neutral)},
      {"unknown stack", ErrorIn(results.generic)},
      {"and one measured step", ErrorIn(results.near_step)},
      {"MFU of 45 %", ConstantMfu},
      {"datasheet roofline", DatasheetRoof}};
  std::string out = "| rows |";
  std::string line = "| --- |";
  for (const auto& [how, error] : kHow) {
    absl::StrAppend(&out, " ", how, " |");
    absl::StrAppend(&line, " ---: |");
  }
  absl::StrAppend(&out, "\n", line, "\n");
  for (const Rows& rows : RowsOfSummary(results.rows.cases)) {
    absl::StrAppend(&out, "| ", rows.name, " |");
    for (const auto& [how, error] : kHow) {
      absl::StrAppend(&out, " ", Pair(ScoreOf(rows.group, error)), " |");
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

std::string GroupTable(const StepResults& results, const std::string& column) {
  std::string out = absl::StrCat(
      "| ", column,
      " | rows | median / p90 % | bias % | within 10 % | within 20 % | left out | MFU of 45 % | "
      "roofline |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  const StepGroup all = Where(results.rows.cases, [](const StepCase&) { return true; });
  const auto name = [&](const StepCase& each) {
    return absl::StrCat(ColumnOf(each.row, column), each.row.experts ? ", experts" : "");
  };
  for (const auto& [key, group] : GroupsBy(all, name)) {
    absl::StrAppend(&out, "| ", key, " | ", Numbers(ScoreOf(group, InSight)), " ",
                    Pair(ScoreOf(group, ErrorIn(results.folds.left_out))), " | ",
                    Pair(ScoreOf(group, ConstantMfu)), " | ", Pair(ScoreOf(group, DatasheetRoof)),
                    " |\n");
  }
  return out;
}

std::string ConstantTable(const StepResults& results) {
  std::string out =
      "| constant | neutral | on all rows | folds | families |\n| --- | ---: | ---: | ---: | ---: "
      "|\n";
  const StepFolds& folds = results.folds;
  for (size_t i = 0; i < folds.constants.size(); ++i) {
    const StepConstantRange& range = folds.ranges[i];
    absl::StrAppendFormat(&out, "| %s | %.4g | %.4g | %.4g to %.4g | %d |\n",
                          folds.constants[i].name, folds.constants[i].neutral, range.in_sight,
                          range.low, range.high, range.families);
  }
  return out;
}

std::string FineTuningTable(const std::vector<StepCase>& cases) {
  std::string out =
      "| task | rows | median / p90 % | bias % | within 10 % | within 20 % | inside the interval |"
      "\n| --- | --- | --- | --- | --- | --- | --- |\n";
  const StepGroup all = Where(cases, [](const StepCase&) { return true; });
  for (const auto& [task, group] : GroupsBy(all, [](const StepCase& each) {
         return absl::StrCat(each.row.task, ", ", each.row.narrow ? "8 bit" : "16 bit");
       })) {
    const auto inside = std::count_if(group.begin(), group.end(), [](const StepCase* each) {
      return each->predicted.Covers(each->row.measured);
    });
    absl::StrAppend(&out, "| ", task, " | ", Numbers(ScoreOf(group, InSight)), " ", inside, " |\n");
  }
  absl::StrAppend(&out, "\n| row | task | model | format | GPUs | seconds | predicted | interval |",
                  " error % |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const StepCase& each : cases) {
    absl::StrAppendFormat(&out, "| %s | %s | %s | %s | %d %s | %.4g | %.4g | %.4g to %.4g | %s |\n",
                          each.row.id, each.row.task, each.row.model, each.row.format,
                          each.row.layout.devices, each.row.hardware, each.row.measured,
                          each.predicted.expected, each.predicted.low, each.predicted.high,
                          Signed(each.Error()));
  }
  return out;
}

std::string OpenTable(const StepResults& results) {
  std::string out =
      "| open | rows | within the span | its width, median % | beyond it, median / p90 % | left "
      "out: beyond it |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
  const StepGroup open =
      Where(results.rows.cases, [](const StepCase& each) { return !each.row.open.empty(); });
  const auto name = [](const StepCase& each) {
    return absl::StrCat(absl::StrJoin(each.row.open, "; "), each.row.experts ? ", experts" : "");
  };
  for (const auto& [key, group] : GroupsBy(open, name)) {
    std::vector<WeightedValue> widths;
    double inside = 0;
    for (const StepCase* each : group) {
      widths.push_back({each->predicted.span_high / each->predicted.span_low - 1, 1});
      inside += each->predicted.SpanErrorOf(each->row.measured) == 0 ? 1 : 0;
    }
    const auto beyond = [](const StepCase& each) -> absl::optional<double> {
      return each.predicted.SpanErrorOf(each.row.measured);
    };
    const auto left_out = [&](const StepCase& each) -> absl::optional<double> {
      const auto found = results.folds.left_out.find(&each);
      if (found == results.folds.left_out.end()) return absl::nullopt;
      return found->second.SpanErrorOf(each.row.measured);
    };
    absl::StrAppend(&out, "| ", key, " | ", group.size(), " | ",
                    Whole(inside / static_cast<double>(group.size())), " % | ",
                    Whole(WeightedQuantile(widths, 0.5)), " | ", Pair(ScoreOf(group, beyond)),
                    " | ", Pair(ScoreOf(group, left_out)), " |\n");
  }
  return out;
}

std::string SweepTable(const StepResults& results) {
  std::string out =
      "| source, framework | sweeps | rows | Spearman, median | lowest | cost of the first, median "
      "% | most % | fastest is a tie % | of the first three % |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  std::map<std::string, std::vector<StepSweep>> by_source;
  for (StepSweep& sweep : SweepsOf(results.rows.cases)) {
    by_source["all"].push_back(sweep);
    by_source[absl::StrCat(sweep.source, ", ", sweep.framework)].push_back(std::move(sweep));
  }
  for (const auto& [source, sweeps] : by_source) {
    std::vector<WeightedValue> ranks;
    std::vector<WeightedValue> costs;
    size_t rows = 0;
    double ties = 0;
    double of_three = 0;
    for (const StepSweep& sweep : sweeps) {
      ties += sweep.best_ties ? 1 : 0;
      of_three += sweep.best_of_three ? 1 : 0;
      ranks.push_back({sweep.spearman, 1});
      costs.push_back({sweep.cost, 1});
      rows += sweep.rows;
    }
    const auto count = static_cast<double>(sweeps.size());
    absl::StrAppendFormat(&out, "| %s | %d | %d | %.2f | %.2f | %s | %s | %s | %s |\n", source,
                          sweeps.size(), rows, WeightedQuantile(ranks, 0.5),
                          WeightedQuantile(ranks, 1e-9), Share(WeightedQuantile(costs, 0.5)),
                          Share(WeightedQuantile(costs, 1)), Whole(ties / count),
                          Whole(of_three / count));
  }
  return out;
}

std::string BandTable(const StepResults& results) {
  std::string out =
      "| class | rows | families | 10th | 90th | the answers' intervals cover, in sight % | family "
      "left out % |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Rows& rows : RowsOfSummary(results.rows.cases)) {
    AddBand(rows, BandOf(rows.group, ErrorIn(results.folds.left_out)),
            CoverageOf(rows.group, results), out);
  }
  const Rows dense = {"unknown stack, dense", Where(results.rows.cases, [](const StepCase& each) {
                        return !each.row.experts;
                      })};
  const StepBand band = BandOf(dense.group, ErrorIn(results.generic));
  absl::StrAppendFormat(&out, "| %s | %d | %d | %+.3f | %+.3f | | |\n", dense.name, band.rows,
                        band.families, band.low, band.high);
  const StepBand near = BandOf(dense.group, ErrorIn(results.near_step));
  absl::StrAppendFormat(&out, "| %s, one measured step | %d | %d | %+.3f | %+.3f | | |\n",
                        dense.name, near.rows, near.families, near.low, near.high);
  return out;
}

std::string WorstStepTable(const StepResults& results, size_t count) {
  StepGroup worst = Where(results.rows.cases, [](const StepCase&) { return true; });
  std::stable_sort(worst.begin(), worst.end(), [](const StepCase* a, const StepCase* b) {
    return std::abs(std::log1p(a->Error())) > std::abs(std::log1p(b->Error()));
  });
  worst.resize(std::min(count, worst.size()));
  std::string out =
      "| row | family | hardware | measured s | predicted s | error % | largest parts % | what is "
      "known |\n| --- | --- | --- | ---: | ---: | ---: | --- | --- |\n";
  for (const StepCase* each : worst) {
    absl::StrAppendFormat(&out, "| %s | %s | %d %s | %.4g | %.4g | %s | %s | %s |\n", each->row.id,
                          absl::StrJoin(absl::StrSplit(each->row.family, " | "), ", "),
                          each->row.layout.devices, each->row.hardware, each->row.measured,
                          each->predicted.expected, Signed(each->Error()), PartsOf(each->predicted),
                          StepCauseOf(*each));
  }
  return out;
}

std::string StepLeftOutTable(const StepResults& results) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const StepLeftOut& row : results.rows.left_out) ++counts[{row.reason, row.source}];
  std::string out = "| reason | source | rows |\n| --- | --- | ---: |\n";
  for (const auto& [key, count] : counts) {
    absl::StrAppend(&out, "| ", key.first, " | ", key.second, " | ", count, " |\n");
  }
  return out;
}

}  // namespace sextant
