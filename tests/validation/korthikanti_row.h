// Figure 1 of arXiv 2205.05198: memory that the paper calculated, by its formulas.
#ifndef SEXTANT_TESTS_VALIDATION_KORTHIKANTI_ROW_H_
#define SEXTANT_TESTS_VALIDATION_KORTHIKANTI_ROW_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// The figure counts 18 bytes for each of 12 L h^2 parameters, and activations of layers with as
// many micro-batches in flight as the first stage of the schedule holds; no embedding, no bias.
// Source of the figures: calculon-ai/calculon @caa4b11f8fe1, `calculon/llm/validation.py`.
absl::StatusOr<MeasuredCase> KorthikantiCase(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_KORTHIKANTI_ROW_H_
