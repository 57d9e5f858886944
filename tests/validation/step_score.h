// How near predictions of steps are, in a few numbers.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_SCORE_H_
#define SEXTANT_TESTS_VALIDATION_STEP_SCORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "tests/validation/step_study.h"

namespace sextant {

// Of signed errors, predicted over measured less 1.
struct StepScore {
  int64_t count = 0;
  double median = 0;  // of sizes
  double p90 = 0;     // 90th percentile of sizes
  double bias = 0;    // median, signed
  double within_10 = 0;
  double within_20 = 0;  // shares, limits included
};

// The error of a case; absent where there is none.
using StepError = std::function<absl::optional<double>(const StepCase&)>;

StepScore ScoreOf(const StepGroup& group, const StepError& error);
// One vote a family: of the families' median sizes; bias of their median errors.
StepScore FamilyScoreOf(const StepGroup& group, const StepError& error);

// A value and what it weighs.
struct WeightedValue {
  double value = 0;
  double weight = 1;
};

// The smallest value with `share` of the weight at or below it; 0 of none.
double WeightedQuantile(std::vector<WeightedValue> values, double share);

// 10th and 90th percentile of ln(1 / (1 + error)), a family's rows weighing 1 / sqrt(their number).
struct StepBand {
  double low = 0;
  double high = 0;
  int64_t families = 0;
  int64_t rows = 0;
};
StepBand BandOf(const StepGroup& group, const StepError& error);

// Spearman's rank correlation, ties sharing their ranks' mean; 0 of fewer than two.
double SpearmanOf(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_SCORE_H_
