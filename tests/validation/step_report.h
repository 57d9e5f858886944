// docs/accuracy-step-time.md, and the command's other texts.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_REPORT_H_
#define SEXTANT_TESTS_VALIDATION_STEP_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "tests/support/csv.h"
#include "tests/validation/step_folds.h"
#include "tests/validation/step_study.h"

namespace sextant {

// A line for each row of `table`: what it is translated to, or why not.
std::string TranslationText(const std::vector<CsvRow>& table);

// A line for each case: id, class, measured and predicted seconds with the interval, error, parts.
std::string RowsText(const std::vector<StepCase>& cases);

// Everything the report is made of.
struct StepResults {
  StepCases rows = {};
  StepCases tuned = {};  // fine-tuning, in no other table
  StepFolds folds = {};
  std::map<const StepCase*, StepPrediction> generic = {};  // of an unknown stack
  std::map<const StepCase*, double> near_step = {};        // that, times one measured step
};

// Asks everything. The folds take minutes.
StepResults StepResultsOf(const std::vector<CsvRow>& table);

// The report in Markdown. The same results, the same text.
std::string StepReport(const StepResults& results);

// A line for each case, after a line of the columns' names.
std::string StepCsv(const StepResults& results);

// The constants as estimated on all rows, a line each.
std::string FitText(const std::vector<CsvRow>& table);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_REPORT_H_
