// The constants of software stacks and devices that were chosen in sight of measured runs, and are
// estimated again for each fold.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_CONSTANTS_H_
#define SEXTANT_TESTS_VALIDATION_STEP_CONSTANTS_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/validation/step_prediction.h"
#include "tests/validation/step_row.h"

namespace sextant {

// One of them: a field of layout.software for some of the rows.
struct StepConstant {
  std::string name;   // "attention_time_ratio, Megatron on H100"
  std::string field;  // "attention_time_ratio"
  std::function<bool(const StepRow&)> applies;
  double neutral = 1;  // where estimates start, and stay without a family that speaks for them
  double low = 0;
  double high = 1;
  double grid = 0.05;    // values are whole multiples of it
  double doubt = 0.25;   // a departure from neutral that costs one unit of the penalty
  bool experts = false;  // that only mixtures of experts speak for
};

// All of them, with neutral values from step_time.md section 4.
std::vector<StepConstant> StepConstants();

// Fields of `row` at `values`, one a constant.
StepOverrides OverridesFor(const StepRow& row, const std::vector<StepConstant>& constants,
                           const std::vector<double>& values);

std::vector<double> NeutralValues(const std::vector<StepConstant>& constants);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_CONSTANTS_H_
