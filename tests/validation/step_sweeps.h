// Whether predictions put layouts of one model in the order that was measured.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_SWEEPS_H_
#define SEXTANT_TESTS_VALIDATION_STEP_SWEEPS_H_

#include <map>
#include <string>
#include <vector>

#include "tests/validation/step_study.h"

namespace sextant {

// Rows of one source, model (of BLOOM's trials: table), device and type, by their time over that of
// their FLOPs at the peak.
struct StepSweep {
  std::string name = {};
  std::string source = {};
  std::string framework = {};
  size_t rows = 0;
  double spread = 0;    // measured, the slowest over the fastest less 1
  double spearman = 0;  // of predicted and measured
  // Of the rows that are predicted to be the fastest, on average, over the fastest, less 1.
  double cost = 0;
  // Where the fastest row is by its prediction: as near the least as a search's ties are, and among
  // the three least.
  bool best_ties = false;
  bool best_of_three = false;
  // Spearman that a model would reach which knew the mean time of each request, on average, where
  // rows scatter about it as the source's repeats do.
  double reachable = 0;
  // The standard deviation of ln(predicted / measured) in the sweep, and its parts, whose squares
  // add up: of rows of one request about their mean, of frameworks' means, and the rest, of
  // requests' means about their framework's.
  double error_spread = 0;
  double noise = 0;
  double framework_spread = 0;
  double rest_spread = 0;
};

inline constexpr size_t kFewestOfSweep = 4;

// The mean of `measured` where `predicted` is least.
double CostOfFirst(const std::vector<double>& measured, const std::vector<double>& predicted);

// Those of four rows or more whose spread exceeds 5 %.
std::vector<StepSweep> SweepsOf(const std::vector<StepCase>& cases);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_SWEEPS_H_
