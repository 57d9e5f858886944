#include "tests/validation/figures_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tests/validation/report_tables.h"

namespace sextant {
namespace {

constexpr char kColumns[] =
    "source,framework,series,id,request,definition,fully_known,measured,expected,low,high\n";

std::string FrameworkText(const MeasuredCase& run) {
  const std::string& name =
      v1::FrameworkMemory::Kind_Name(run.all_fields.layout().framework().kind());
  return absl::AsciiStrToLower(absl::StripPrefix(name, "KIND_"));
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::vector<FigureLine> FigureLinesOf(const std::vector<Answer>& answers) {
  std::vector<FigureLine> out;
  for (const RequestKind request : {RequestKind::kAllFields, RequestKind::kDefaults}) {
    for (const ScoredFigure& figure : FiguresOf(answers, request)) {
      const MeasuredCase& run = figure.answer->run;
      const MemoryDefinition definition = figure.measured.definition;
      if (definition == MemoryDefinition::kCalculated) continue;
      const v1::Interval interval = figure.prediction->Of(definition);
      out.push_back({.source = run.source,
                     .framework = FrameworkText(run),
                     .series = run.series,
                     .id = run.id,
                     .request = request,
                     .definition = definition,
                     .fully_known = run.fully_known(),
                     .measured = static_cast<double>(figure.measured.size.value()),
                     .expected = interval.expected(),
                     .low = interval.low(),
                     .high = interval.high()});
    }
  }
  return out;
}

std::string FiguresCsv(const std::vector<FigureLine>& lines) {
  std::string out = kColumns;
  for (const FigureLine& line : lines) {
    absl::StrAppend(&out, Quoted(line.source), ",", line.framework, ",", Quoted(line.series), ",",
                    Quoted(line.id), ",", RequestName(line.request), ",",
                    DefinitionName(line.definition), ",", line.fully_known ? 1 : 0);
    for (const double bytes : {line.measured, line.expected, line.low, line.high}) {
      absl::StrAppend(&out, ",", absl::StrFormat("%.0f", bytes));
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace sextant
