// Measured seconds of a row's step.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_MEASURED_H_
#define SEXTANT_TESTS_VALIDATION_STEP_MEASURED_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"

namespace sextant {

// Seconds of a step as published; else as derived from tokens a second; else from TFLOP/s where the
// source says by which formula it counts: Narayanan et al. 2021 equation 3, Megatron-LM's
// num_floating_point_operations of 2024 (three times the forward products, all of the mask), and
// BLOOM's 8 N s B.
// Errors: kInvalidArgument "no step time".
absl::StatusOr<double> MeasuredStepSeconds(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_MEASURED_H_
