// A row of measured_runs.csv that says something about memory.
#ifndef SEXTANT_TESTS_VALIDATION_MEASURED_ROW_H_
#define SEXTANT_TESTS_VALIDATION_MEASURED_ROW_H_

#include <string>

#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// True where a row has a figure of memory or reports a job that ran out of it.
bool SaysMemory(const CsvRow& row);

// The name of its source in the report; the column's where there is no rule for it.
std::string SourceOf(const CsvRow& row);

// `row`, one that SaysMemory(), by the rules of its source.
Translated TranslateMeasuredRow(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEASURED_ROW_H_
