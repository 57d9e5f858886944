// A row of megatron_ci_memory.csv: a test of Megatron-LM with all its arguments, and the memory
// that the last rank had allocated.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_ROW_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_ROW_H_

#include <string>

#include "absl/status/status.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"
#include "tests/validation/megatron_arguments.h"
#include "tests/validation/megatron_job.h"

namespace sextant {

inline constexpr char kMegatronSource[] = "Megatron-LM CI";

// A row's test, hardware, container and variant.
std::string MegatronRowId(const CsvRow& row);

Translated TranslateMegatronRow(const CsvRow& row);

// Sets traits and all_fields of `out`. Errors: kInvalidArgument with the reason why the run can't
// be described.
absl::Status DescribeMegatron(const MegatronArguments& arguments, const MegatronMachine& machine,
                              bool bert, MeasuredCase& out);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_ROW_H_
