// The cost of gaps in a calibration: predictions of shapes that were withheld from it.
#ifndef SEXTANT_TESTS_VALIDATION_ATTENTION_LACKS_H_
#define SEXTANT_TESTS_VALIDATION_ATTENTION_LACKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "tests/support/csv.h"

namespace sextant {

// Measured over expected time of the shapes that lack something, over all kernels.
struct LackScore {
  std::string lack;
  PredictionError error;
  // The share of them within the predicted interval; absent where no interval was asked for.
  absl::optional<double> inside = {};
};

// Gaps of attention: models of sequences of 2048 to 6144 and 16 to 256 heads in the batch alone,
// asked for others; of one head size, or two, asked for another; of no window, asked for one; of
// one mask, asked for the other, also of another kernel of the same framework, as a reference joins
// them; of another mask with and without the head size asked for. AttentionFallbacks are derived
// from these.
absl::StatusOr<std::vector<LackScore>> AttentionLacks(const std::vector<CsvRow>& rows);

// Gaps of layers of experts: models of 16 to 256 rows an expert, or of 4 to 64 experts on the
// device, asked for others. GroupedMatmulModel::kOctaveOutside is derived from these.
absl::StatusOr<std::vector<LackScore>> GroupedMatmulLacks(const std::vector<CsvRow>& rows);

// One row a lack; `title` heads their names.
std::string LackTable(const std::vector<LackScore>& lacks, absl::string_view title = "lacking");

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_ATTENTION_LACKS_H_
