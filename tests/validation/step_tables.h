// Tables of the report on step times, each in Markdown with its heading row.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_TABLES_H_
#define SEXTANT_TESTS_VALIDATION_STEP_TABLES_H_

#include <string>
#include <vector>

#include "tests/validation/step_report.h"
#include "tests/validation/step_score.h"

namespace sextant {

// Classes of rows, each family predicted without itself.
std::string SummaryTable(const StepResults& results);
// The same by what predictions are made with, beside the baselines.
std::string OtherWaysTable(const StepResults& results);
// In sight, by `column`: "source", "hardware", "framework", "format" or "strategy".
std::string GroupTable(const StepResults& results, const std::string& column);
std::string ConstantTable(const StepResults& results);
// Errors in sight by task, then each row.
std::string FineTuningTable(const std::vector<StepCase>& cases);
std::string OpenTable(const StepResults& results);
std::string SweepTable(const StepResults& results);
// Sweeps whose order is poor, and what spreads their errors.
std::string LowSweepTable(const StepResults& results);
std::string BandTable(const StepResults& results);
// The `count` largest errors of rows with nothing open.
std::string WorstStepTable(const StepResults& results, size_t count);
std::string StepLeftOutTable(const StepResults& results);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_TABLES_H_
