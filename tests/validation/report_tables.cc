#include "tests/validation/report_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/validation/causes.h"
#include "tests/validation/error_summary.h"

namespace sextant {
namespace {

constexpr double kClose = 0.03;

bool IsKnown(const ScoredFigure& figure) { return figure.answer->run.fully_known(); }

std::vector<double> ErrorsOf(const std::vector<ScoredFigure>& figures, bool known_only) {
  std::vector<double> out;
  for (const ScoredFigure& figure : figures) {
    if (!known_only || IsKnown(figure)) out.push_back(figure.error);
  }
  return out;
}

std::string SummaryCells(const ErrorSummary& summary) {
  if (summary.count == 0) return "0 | | | | | | |";
  return absl::StrCat(summary.count, " | ", SignedPercent(summary.median_signed), " | ",
                      SignedPercent(summary.low), " to ", SignedPercent(summary.high), " | ",
                      Percent(summary.median), " | ", Percent(summary.p90), " | ",
                      absl::StrFormat("%.0f %%", 100 * summary.within_3), " | ",
                      absl::StrFormat("%.0f %%", 100 * summary.within_10), " |");
}

constexpr char kSummaryHead[] =
    "rows | median | 10th to 90th percentile | median of sizes | 90th percentile of sizes | within "
    "3 % | within 10 % |\n";
constexpr char kSummaryRule[] = "---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";

std::string CauseName(const ScoredFigure& figure) {
  const Cause* cause = CauseOf(*figure.answer, figure.measured.definition);
  return cause == nullptr ? "not named" : std::string(cause->name);
}

}  // namespace

std::vector<ScoredFigure> FiguresOf(const std::vector<Answer>& answers) {
  std::vector<ScoredFigure> out;
  for (const Answer& answer : answers) {
    for (const MeasuredMemory& measured : answer.run.measured) {
      out.push_back({&answer, measured, answer.ErrorOf(measured)});
    }
  }
  return out;
}

absl::string_view DefinitionName(MemoryDefinition definition) {
  switch (definition) {
    case MemoryDefinition::kAllocated:
      return "allocated";
    case MemoryDefinition::kReserved:
      return "reserved";
    case MemoryDefinition::kProcess:
      return "process";
    case MemoryDefinition::kCalculated:
      break;
  }
  return "calculated";
}

std::string Percent(double share) { return absl::StrFormat("%.2f %%", 100 * share); }

std::string SignedPercent(double share) { return absl::StrFormat("%+.2f %%", 100 * share); }

std::string Gibibytes(Bytes size) {
  return absl::StrFormat("%.2f", static_cast<double>(size.value()) / 0x1p30);
}

std::string ErrorTable(const std::vector<ScoredFigure>& figures) {
  std::map<std::pair<MemoryDefinition, std::string>, std::vector<ScoredFigure>> groups;
  for (const ScoredFigure& figure : figures) {
    groups[{figure.measured.definition, figure.answer->run.source}].push_back(figure);
  }
  std::string out = absl::StrCat("| definition | source | which | ", kSummaryHead,
                                 "| --- | --- | --- | ", kSummaryRule);
  for (const auto& [key, group] : groups) {
    const std::string start =
        absl::StrCat("| ", DefinitionName(key.first), " | ", key.second, " | ");
    absl::StrAppend(&out, start, "all | ", SummaryCells(SummaryOf(ErrorsOf(group, false))), "\n");
    const ErrorSummary known = SummaryOf(ErrorsOf(group, true));
    absl::StrAppend(&out, start, "fully known | ", SummaryCells(known), "\n");
  }
  return out;
}

std::string BetweenStepsTable(const std::vector<Answer>& answers) {
  std::vector<double> errors;
  std::vector<double> known;
  for (const Answer& answer : answers) {
    if (!answer.run.between_steps.has_value() || answer.stage_count > 1) continue;
    if (answer.run.job.batch.compute_data_type != DataType::kBf16) continue;
    Bytes state = answer.run.job.reserve.workspace;
    for (const LedgerKind kind : {LedgerKind::kWeight, LedgerKind::kGradient,
                                  LedgerKind::kMasterWeight, LedgerKind::kOptimizerState}) {
      state = state + answer.memory.of(kind);
    }
    const double measured = static_cast<double>(answer.run.between_steps->value());
    errors.push_back(static_cast<double>(state.value()) / measured - 1);
    if (answer.run.fully_known()) known.push_back(errors.back());
  }
  return absl::StrCat("| which | ", kSummaryHead, "| --- | ", kSummaryRule, "| all | ",
                      SummaryCells(SummaryOf(errors)), "\n| fully known | ",
                      SummaryCells(SummaryOf(known)), "\n");
}

std::string WorstTable(std::vector<ScoredFigure> figures, size_t count) {
  std::stable_sort(figures.begin(), figures.end(),
                   [](const ScoredFigure& a, const ScoredFigure& b) {
                     return std::abs(a.error) > std::abs(b.error);
                   });
  figures.resize(std::min(figures.size(), count));
  std::string out =
      "| run | definition | measured GiB | predicted GiB | error | at the peak | cause |\n"
      "| --- | --- | ---: | ---: | ---: | --- | --- |\n";
  for (const ScoredFigure& figure : figures) {
    const Answer& answer = *figure.answer;
    const MemoryDefinition definition = figure.measured.definition;
    absl::StrAppend(&out, "| ", answer.run.id, " | ", DefinitionName(definition), " | ",
                    Gibibytes(figure.measured.size), " | ", Gibibytes(answer.Predicted(definition)),
                    " | ", SignedPercent(figure.error), " | ", PeakPhaseName(answer.memory.phase),
                    " | ", CauseName(figure), " |\n");
  }
  return out;
}

std::string CauseTable(const std::vector<ScoredFigure>& figures) {
  std::map<std::string, std::vector<double>> errors;
  for (const ScoredFigure& figure : figures) {
    if (std::abs(figure.error) > kClose) errors[CauseName(figure)].push_back(figure.error);
  }
  std::string out =
      "| cause | rows beyond 3 % | median | worst | why |\n| --- | ---: | ---: | ---: | --- |\n";
  const auto append = [&](const std::string& name, absl::string_view why) {
    const auto found = errors.find(name);
    if (found == errors.end()) return;
    const ErrorSummary summary = SummaryOf(found->second);
    absl::StrAppend(&out, "| ", name, " | ", summary.count, " | ",
                    SignedPercent(summary.median_signed), " | ", Percent(summary.worst), " | ", why,
                    " |\n");
  };
  for (const Cause& cause : Causes()) append(std::string(cause.name), cause.why);
  append("not named", "");
  return out;
}

}  // namespace sextant
