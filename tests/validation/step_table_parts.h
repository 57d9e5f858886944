// What several tables of the report on step times share.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_TABLE_PARTS_H_
#define SEXTANT_TESTS_VALIDATION_STEP_TABLE_PARTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "tests/validation/step_score.h"
#include "tests/validation/step_study.h"

namespace sextant {

// Percent: "12.3", "+12.3", "12".
std::string Share(double share);
std::string Signed(double share);
std::string Whole(double share);

// Of a prediction with the stacks' own constants.
absl::optional<double> InSight(const StepCase& each);
// Of a map of predictions, or of seconds, which outlives the result; absent where it lacks the
// case.
StepError ErrorIn(const std::map<const StepCase*, StepPrediction>& predictions);
StepError ErrorIn(const std::map<const StepCase*, double>& seconds);

// The rows of a line of a table.
struct StepRowsOfLine {
  std::string name;
  StepGroup group;
};
// Dense rows with nothing open, all of them, and each class.
std::vector<StepRowsOfLine> LinesOfSummary(const std::vector<StepCase>& cases);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_TABLE_PARTS_H_
