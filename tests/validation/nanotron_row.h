// nanotron's best configurations on 8 to 512 H100, and InternEvo's memory test on A800.
#ifndef SEXTANT_TESTS_VALIDATION_NANOTRON_ROW_H_
#define SEXTANT_TESTS_VALIDATION_NANOTRON_ROW_H_

#include "absl/status/statusor.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// The chart prints sizes alone. Of each size one shape of Llama 3's layers, with as many heads of
// keys as of queries and a vocabulary of 131,072, has exactly as many parameters: 1.34, 3.57, 8.86
// and 80.0 billion. Neither recomputation nor the kind of memory is published.
absl::StatusOr<OpenCase> OpenNanotronCase(const CsvRow& row);

// InternEvo's page doesn't say how long a sequence is.
absl::StatusOr<OpenCase> OpenInternevoCase(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_NANOTRON_ROW_H_
