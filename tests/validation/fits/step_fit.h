// The constants of software stacks and devices, estimated on published runs, and on those without
// some of the families, which are then predicted.
#ifndef SEXTANT_TESTS_VALIDATION_FITS_STEP_FIT_H_
#define SEXTANT_TESTS_VALIDATION_FITS_STEP_FIT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/validation/fits/step_asker.h"

namespace sextant {

// A field of layout.software for some of the rows.
struct StepConstant {
  std::string field;   // "attention_time_ratio"
  double neutral = 1;  // where estimates start, and stay without a family that speaks for them
  double low = 0;
  double high = 1;
  double grid = 0.05;    // values are whole multiples of it
  double doubt = 0.25;   // a departure from neutral that costs one unit of the penalty
  bool experts = false;  // that only mixtures of experts speak for
};

using StepGroup = std::vector<const StepRow*>;

std::vector<double> NeutralValues(const std::vector<StepConstant>& constants);

// Coordinate descent from neutral values over Huber's loss of ln(predicted / measured), a family's
// rows weighing 1 / sqrt(their number), and a small penalty for leaving the neutral value. An open
// row's error is its distance from its span; of rows that recompute something unknown, the expected
// time's.
class StepFit {
 public:
  StepFit(const std::vector<StepConstant>& constants, StepAsker& asker)
      : constants_(constants), asker_(asker) {}

  // The values on `rows`, from `start`: those of experts alone (`experts`) or the others.
  std::vector<double> Values(const StepGroup& rows, std::vector<double> start, bool experts);

  // The prediction for `row` at `values`. Errors: those of StepAsker::Ask().
  absl::StatusOr<StepPrediction> PredictionAt(const StepRow& row,
                                              const std::vector<double>& values);

  // Families of `rows` whose predictions change by 0.1 % or more where constant `index` moves by
  // its doubt.
  int64_t FamiliesFor(size_t index, const StepGroup& rows);

 private:
  double LossOf(const StepRow& row, const std::vector<double>& values);
  bool Move(size_t index, const StepGroup& touched, std::vector<double>& values);

  const std::vector<StepConstant>& constants_;
  StepAsker& asker_;
  std::map<std::string, double> weights_ = {};  // by family
};

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

#endif  // SEXTANT_TESTS_VALIDATION_FITS_STEP_FIT_H_
