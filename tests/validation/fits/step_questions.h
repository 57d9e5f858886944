// Questions about steps of published runs, and constants estimated on them.
#ifndef SEXTANT_TESTS_VALIDATION_FITS_STEP_QUESTIONS_H_
#define SEXTANT_TESTS_VALIDATION_FITS_STEP_QUESTIONS_H_

#include <nlohmann/json.hpp>

#include "tests/validation/fits/step_asker.h"

namespace sextant {

// A row is an object of StepRow's fields; requests are PlanRunRequests in JSON, and constants the
// indices of those that hold for it. A prediction is an object of StepPrediction's fields, or
// {"error": text}.
class StepQuestions {
 public:
  // {rows}: predictions with the stacks' own constants.
  nlohmann::json Predictions(const nlohmann::json& question);

  // {rows, constants}, a constant being an object of StepConstant's fields: "ranges", by constant
  // [on all rows, least and most of the folds, families that speak for it], the numbers of folds,
  // and predictions "left_out" and "neutral", null where the service refuses. Minutes.
  nlohmann::json Folds(const nlohmann::json& question);

 private:
  StepAsker asker_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FITS_STEP_QUESTIONS_H_
