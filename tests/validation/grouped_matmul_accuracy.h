// Scores predictions of layers of experts against published times.
#ifndef SEXTANT_TESTS_VALIDATION_GROUPED_MATMUL_ACCURACY_H_
#define SEXTANT_TESTS_VALIDATION_GROUPED_MATMUL_ACCURACY_H_

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/hardware/kernels/grouped_matmul_model.h"
#include "tests/support/csv.h"
#include "tests/validation/attention_rows.h"
#include "tests/validation/kernel_score.h"

namespace sextant {

// Rows of moe_grouped_gemm_dev.csv, in the order of their shapes.
//
// Errors: kInvalidArgument naming the column of the first row that can't be read.
absl::StatusOr<std::map<KernelKey, std::vector<GroupedMatmulPoint>>> GroupedMatmulTable(
    const std::vector<CsvRow>& rows);

// A calibration's points: 60 by SpreadPoints() around 256 rows an expert, 16 experts and 2^23
// weights a matrix; never more than half of the rows.
std::vector<GroupedMatmulPoint> GroupedMatmulPick(const std::vector<GroupedMatmulPoint>& points);

// Every kernel of the table by a calibration of its own points; all other rows are scored.
absl::StatusOr<KernelScores> GroupedMatmulScores(const std::vector<CsvRow>& rows);

// Every kernel of the table, each half of its rows by the other half, every second row in the order
// of their shapes: all rows are scored.
absl::StatusOr<KernelScores> GroupedMatmulHalves(const std::vector<CsvRow>& rows);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_GROUPED_MATMUL_ACCURACY_H_
