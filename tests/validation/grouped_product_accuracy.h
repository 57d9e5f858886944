// Compares published layers of experts with the sum of their parts.
#ifndef SEXTANT_TESTS_VALIDATION_GROUPED_PRODUCT_ACCURACY_H_
#define SEXTANT_TESTS_VALIDATION_GROUPED_PRODUCT_ACCURACY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/attention_lacks.h"

namespace sextant {

// Measured time of a layer over
//
//   product(rows, 2 f, h) + product(rows, h, f) + (10 h + 6 f) rows / (0.80 bandwidth)
//
// of the rows of moe_grouped_gemm_dev.csv whose tokens are of at most 4 devices, by type and rows
// per expert, by type and GPU, and by type alone. The products are
// GroupedMatmulPredictor::PredictProduct()'s without the median of ErrorOfGroupedProducts(), which
// is derived from these figures; the bytes are those of permuting, summing and activating a row in
// bf16; without a gate, f and 4 f replace 2 f and 6 f. The scores of the router are inputs of the
// published layers.
absl::StatusOr<std::vector<LackScore>> LayersOverParts(const std::vector<CsvRow>& rows);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_GROUPED_PRODUCT_ACCURACY_H_
