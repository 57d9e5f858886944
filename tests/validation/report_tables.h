// Tables of the report, each in Markdown with its heading row.
#ifndef SEXTANT_TESTS_VALIDATION_REPORT_TABLES_H_
#define SEXTANT_TESTS_VALIDATION_REPORT_TABLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "tests/validation/answer.h"
#include "tests/validation/figures_file.h"

namespace sextant {

// A figure of a run, and the service's answer to one of the run's requests.
struct ScoredFigure {
  const Answer* answer = nullptr;
  const Prediction* prediction = nullptr;
  RequestKind request = RequestKind::kAllFields;
  MeasuredMemory measured = {};
  double error = 0;
};

// Every figure of every answer to `request`, in their order.
std::vector<ScoredFigure> FiguresOf(const std::vector<Answer>& answers, RequestKind request);

absl::string_view DefinitionName(MemoryDefinition definition);  // "allocated", ...
absl::string_view RequestName(RequestKind request);             // "all fields given", ...
std::string Percent(double share);                              // "1.69 %"
std::string SignedPercent(double share);                        // "+1.69 %"
std::string Gibibytes(Bytes size);                              // "54.19"
std::string Gibibytes(double bytes);

// Errors of each source and definition, a line for each request and choice of rows.
std::string ErrorTable(const std::vector<ScoredFigure>& figures);
// Shares of figures in their 80 % intervals. Calculated figures have none.
std::string CoverageTable(const std::vector<FigureLine>& figures);
std::string BetweenStepsTable(const std::vector<Answer>& answers);
// The `count` largest errors.
std::string WorstTable(std::vector<ScoredFigure> figures, size_t count);
// Causes of figures more than 3 % off.
std::string CauseTable(const std::vector<ScoredFigure>& figures);
std::string VerdictTable(const std::vector<Answer>& answers);
std::string OutOfMemoryTable(const std::vector<Answer>& answers);
std::string OpenTable(const std::vector<OpenAnswer>& open);
// Rows whose source contradicts itself, by name.
std::string ContradictionList(const Answers& answers);
std::string LeftOutTable(const Answers& answers);
std::string AssumptionTable(const std::vector<Answer>& answers);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_REPORT_TABLES_H_
