// Constants estimated without some of the families, and predictions for those.
#ifndef SEXTANT_TESTS_VALIDATION_FITS_STEP_FOLDS_H_
#define SEXTANT_TESTS_VALIDATION_FITS_STEP_FOLDS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tests/validation/fits/step_fit.h"

namespace sextant {

// The values of a constant.
struct StepConstantRange {
  double in_sight = 0;  // estimated on all rows, of dense models on dense rows
  double low = 0;       // of the folds' values
  double high = 0;
  int64_t families = 0;  // that speak for it
};

using StepPredictions = std::map<const StepRow*, StepPrediction>;

struct StepFolds {
  std::vector<StepConstantRange> ranges = {};  // one a constant
  int64_t dense_fold_count = 0;
  int64_t expert_fold_count = 0;
  // With constants of the folds that lack the row's family (of experts, its model). Rows that the
  // service refuses are absent.
  StepPredictions left_out = {};
  // With all constants at their neutral values.
  StepPredictions neutral = {};
};

// Dense families in alphabetical order are dealt out to folds; of experts each model is one.
StepFolds FoldsOf(const std::vector<StepRow>& rows, const std::vector<StepConstant>& constants,
                  StepAsker& asker);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FITS_STEP_FOLDS_H_
