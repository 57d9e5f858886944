#include "tests/validation/report_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "tests/validation/causes.h"
#include "tests/validation/error_summary.h"

namespace sextant {
namespace {

constexpr double kClose = 0.03;

bool IsKnown(const ScoredFigure& figure) { return figure.answer->run.fully_known(); }

std::vector<double> ErrorsOf(const std::vector<ScoredFigure>& figures, RequestKind request,
                             bool known_only) {
  std::vector<double> out;
  for (const ScoredFigure& figure : figures) {
    if (figure.request != request || (known_only && !IsKnown(figure))) continue;
    out.push_back(figure.error);
  }
  return out;
}

// Bytes allocated after a step: all but activations, transients and buffers of communication.
double BetweenSteps(const v1::StageMemory& memory) {
  double out = memory.allocated_bytes().expected();
  for (const v1::LedgerSum& sum : memory.sums()) {
    const bool gone =
        sum.kind() == v1::LEDGER_KIND_ACTIVATION || sum.kind() == v1::LEDGER_KIND_TRANSIENT;
    if (gone) out -= static_cast<double>(sum.size_bytes());
  }
  return out;
}

// "head_backward"
std::string PhaseText(v1::PeakPhase phase) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::PeakPhase_Name(phase), "PEAK_PHASE_"));
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

std::vector<ScoredFigure> FiguresOf(const std::vector<Answer>& answers, RequestKind request) {
  std::vector<ScoredFigure> out;
  for (const Answer& answer : answers) {
    const Prediction* prediction = answer.Of(request);
    if (prediction == nullptr) continue;
    for (const MeasuredMemory& measured : answer.run.measured) {
      out.push_back({&answer, prediction, request, measured, prediction->ErrorOf(measured)});
    }
  }
  return out;
}

absl::string_view RequestName(RequestKind request) {
  return request == RequestKind::kAllFields ? "all fields given" : "defaults of the framework";
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

std::string Gibibytes(Bytes size) { return Gibibytes(static_cast<double>(size.value())); }

std::string Gibibytes(double bytes) { return absl::StrFormat("%.2f", bytes / 0x1p30); }

std::string ErrorTable(const std::vector<ScoredFigure>& figures) {
  std::map<std::pair<MemoryDefinition, std::string>, std::vector<ScoredFigure>> groups;
  for (const ScoredFigure& figure : figures) {
    groups[{figure.measured.definition, figure.answer->run.source}].push_back(figure);
  }
  std::string out = absl::StrCat("| definition | source | request | which | ", kSummaryHead,
                                 "| --- | --- | --- | --- | ", kSummaryRule);
  for (const auto& [key, group] : groups) {
    for (const RequestKind request : {RequestKind::kAllFields, RequestKind::kDefaults}) {
      for (const bool known : {false, true}) {
        absl::StrAppend(&out, "| ", DefinitionName(key.first), " | ", key.second, " | ",
                        RequestName(request), known ? " | fully known | " : " | all | ",
                        SummaryCells(SummaryOf(ErrorsOf(group, request, known))), "\n");
      }
    }
  }
  return out;
}

std::string BetweenStepsTable(const std::vector<Answer>& answers) {
  std::vector<double> errors;
  std::vector<double> known;
  for (const Answer& answer : answers) {
    if (!answer.run.between_steps.has_value() || answer.all_fields.stage_count > 1) continue;
    const v1::PrecisionPolicy& precision = answer.run.all_fields.training().precision();
    if (precision.compute_data_type() != v1::DATA_TYPE_BF16) continue;
    const double measured = static_cast<double>(answer.run.between_steps->value());
    errors.push_back(BetweenSteps(answer.all_fields.memory) / measured - 1);
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
    absl::StrAppend(
        &out, "| ", answer.run.id, " | ", DefinitionName(definition), " | ",
        Gibibytes(figure.measured.size), " | ",
        Gibibytes(figure.prediction->Of(definition).expected()), " | ", SignedPercent(figure.error),
        " | ", PhaseText(figure.prediction->memory.peak_phase()), " | ", CauseName(figure), " |\n");
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
