// How published times compare with a device's two ceilings: what ErrorUnderCeilings() and
// AttentionErrorUnderCeilings() are made of.
#ifndef SEXTANT_TESTS_VALIDATION_ROOF_ACCURACY_H_
#define SEXTANT_TESTS_VALIDATION_ROOF_ACCURACY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "tests/support/csv.h"

namespace sextant {

// Measured over (c^2 + m^2)^(1/2) + floor, over all devices of the table together.
struct RoofErrors {
  PredictionError wide;    // operands of bf16
  PredictionError narrow;  // of fp8 with a scale a tensor; without shapes where there are none
};

// Errors for multiplications of m to 8192, n and k of 1024 to 16384. The ceilings are the
// datasheet's peaks times AchievedMatmulFraction() and AchievedBandwidthFraction().
absl::StatusOr<RoofErrors> MatmulsUnderDatasheets(const std::vector<CsvRow>& rows);

// The same, the ceilings being the best rates that the table has of each device and type, products
// of 50 MB and more for memory's, and the floor its shortest time.
absl::StatusOr<RoofErrors> MatmulsUnderBestRates(const std::vector<CsvRow>& rows);

// Errors for causal attention without a window, 2048 to 16384 tokens, by the kernels that are
// nearest to training's (SGLang's fa3, trtllm_mha, flash_attention), under datasheets as above.
absl::StatusOr<RoofErrors> AttentionUnderDatasheets(const std::vector<CsvRow>& rows);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_ROOF_ACCURACY_H_
