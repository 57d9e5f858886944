// Scores predictions of matrix multiplications against published times.
#ifndef SEXTANT_TESTS_VALIDATION_MATMUL_ACCURACY_H_
#define SEXTANT_TESTS_VALIDATION_MATMUL_ACCURACY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/kernel_score.h"

namespace sextant {

// Every GPU, type and library of the table (columns gpu, dtype, framework, framework_version, m, n,
// k, seconds) by a calibration of ChooseMatmulPoints(); all other rows are scored: those of m to
// 8192 with n and k of 1024 to 16384, the halves of these by the parity of the CRC-32 of "m,n,k",
// those outside, and all. What was chosen by looking at scores (docs/kernels_matmul.md, "The form")
// was chosen by the even half. Then each by 18 shapes alone, as a processor's standard grid has,
// and every type of a GPU by the points of every other.
//
// Errors: kInvalidArgument naming a column that is absent or no number.
absl::StatusOr<KernelScores> MatmulScores(const std::vector<CsvRow>& rows);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MATMUL_ACCURACY_H_
