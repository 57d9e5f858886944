// Rows with their predictions, which every table of the report is made of.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_STUDY_H_
#define SEXTANT_TESTS_VALIDATION_STEP_STUDY_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/validation/step_prediction.h"
#include "tests/validation/step_row.h"

namespace sextant {

// A row that the service answers.
struct StepCase {
  StepRow row = {};
  StepPrediction predicted = {};
  StepBaselines baselines = {};

  double Error() const { return predicted.ErrorOf(row.measured); }
};

struct StepCases {
  std::vector<StepCase> cases = {};
  std::vector<StepLeftOut> left_out = {};  // with the service's words where it refuses
};

// All rows of `table`, asked with their stacks' own constants.
StepCases StepCasesOf(const std::vector<CsvRow>& table, StepAsker& asker,
                      StepTask task = StepTask::kPretraining);

using StepGroup = std::vector<const StepCase*>;

// Those for which `which` holds.
StepGroup Where(const std::vector<StepCase>& cases,
                const std::function<bool(const StepCase&)>& which);

// By `name`, in alphabetical order.
std::map<std::string, StepGroup> GroupsBy(const StepGroup& group,
                                          const std::function<std::string(const StepCase&)>& name);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_STUDY_H_
