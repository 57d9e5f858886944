// Scores predictions of attention against published times.
#ifndef SEXTANT_TESTS_VALIDATION_ATTENTION_ACCURACY_H_
#define SEXTANT_TESTS_VALIDATION_ATTENTION_ACCURACY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/kernel_score.h"

namespace sextant {

// Every kernel of the table (attention or latent attention) by a calibration of its own points,
// AttentionPick() of each class; all other rows are scored, in two domains: sequences of 2048 to
// 16384 tokens, and all.
absl::StatusOr<KernelScores> AttentionScores(const std::vector<CsvRow>& rows);

// AttentionScores() with every second row of the table as a point, scored on sequences of 2048 to
// 16384 tokens: the error that no number of points removes, by which kernels of neighbouring shapes
// differ.
absl::StatusOr<KernelScores> AttentionLimits(const std::vector<CsvRow>& rows);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_ATTENTION_ACCURACY_H_
