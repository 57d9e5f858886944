// One procedure that estimates constants from rows.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_FIT_H_
#define SEXTANT_TESTS_VALIDATION_STEP_FIT_H_

#include <cstdint>
#include <vector>

#include "tests/validation/step_constants.h"
#include "tests/validation/step_prediction.h"
#include "tests/validation/step_study.h"

namespace sextant {

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

  // The prediction for `row` at `values`. Null where the service refuses.
  absl::StatusOr<StepPrediction> PredictionAt(const StepRow& row,
                                              const std::vector<double>& values);

  // Families of `rows` whose predictions change by 0.1 % or more where constant `index` moves by
  // its doubt.
  int64_t FamiliesFor(size_t index, const StepGroup& rows);

 private:
  double LossOf(const StepCase& each, const std::vector<double>& values);
  bool Move(size_t index, const StepGroup& touched, std::vector<double>& values);

  const std::vector<StepConstant>& constants_;
  StepAsker& asker_;
  std::map<std::string, double> weights_ = {};  // by family
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_FIT_H_
