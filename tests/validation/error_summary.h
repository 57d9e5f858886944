// Errors of many rows in a few numbers.
#ifndef SEXTANT_TESTS_VALIDATION_ERROR_SUMMARY_H_
#define SEXTANT_TESTS_VALIDATION_ERROR_SUMMARY_H_

#include <cstdint>
#include <vector>

namespace sextant {

// Statistics of signed errors; 0.03 is 3 %.
struct ErrorSummary {
  int64_t count = 0;
  double median_signed = 0;
  double low = 0;     // 10th percentile, signed
  double high = 0;    // 90th percentile, signed
  double median = 0;  // of the sizes of errors
  double p90 = 0;     // 90th percentile of the sizes of errors
  double worst = 0;   // the largest of them
  double within_3 = 0;
  double within_10 = 0;  // shares of rows, limits included
};

// All 0 of no errors.
ErrorSummary SummaryOf(std::vector<double> errors);

// The smallest of `sorted` with at least `share` of them at or below it (nearest rank); the mean of
// both where half of them are. `sorted` is not empty, 0 < share <= 1.
double QuantileOf(const std::vector<double>& sorted, double share);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_ERROR_SUMMARY_H_
