// A row of megatron_ci_memory.csv: a test of Megatron-LM with all its arguments, and the memory
// that the last rank had allocated.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_ROW_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_ROW_H_

#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

Translated TranslateMegatronRow(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_ROW_H_
