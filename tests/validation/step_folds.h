// Constants estimated without some of the families, and predictions for those.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_FOLDS_H_
#define SEXTANT_TESTS_VALIDATION_STEP_FOLDS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tests/validation/step_constants.h"
#include "tests/validation/step_fit.h"
#include "tests/validation/step_study.h"

namespace sextant {

// What the folds say of a constant.
struct StepConstantRange {
  double in_sight = 0;  // estimated on all rows
  double low = 0;       // of the folds' values
  double high = 0;
  int64_t families = 0;  // that speak for it
};

struct StepFolds {
  std::vector<StepConstant> constants = {};
  std::vector<StepConstantRange> ranges = {};  // one a constant
  int64_t dense_fold_count = 0;
  int64_t expert_fold_count = 0;
  // With constants of the folds that lack the case's family (of experts, its model).
  std::map<const StepCase*, StepPrediction> left_out = {};
  // With all constants at their neutral values.
  std::map<const StepCase*, StepPrediction> neutral = {};
};

// Dense families in alphabetical order are dealt out to folds; of experts each model is one.
StepFolds FoldsOf(const std::vector<StepCase>& cases, StepAsker& asker);

// The constants as estimated on all rows, dense ones on dense rows.
std::vector<double> ValuesInSight(const std::vector<StepCase>& cases, StepFit& fit,
                                  const std::vector<StepConstant>& constants);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_FOLDS_H_
