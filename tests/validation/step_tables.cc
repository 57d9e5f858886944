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
#include "tests/validation/step_table_parts.h"

namespace sextant {
namespace {

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

}  // namespace

std::string SummaryTable(const StepResults& results) {
  std::string out =
      "| rows | rows | median / p90 % | bias % | within 10 % | within 20 % | one vote a family |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  const StepError error = ErrorIn(results.folds.left_out);
  for (const StepRowsOfLine& rows : LinesOfSummary(results.rows.cases)) {
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
  for (const StepRowsOfLine& rows : LinesOfSummary(results.rows.cases)) {
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
