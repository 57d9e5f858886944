// Published times against the service's answers to requests for them, as a user would send them.
#ifndef SEXTANT_TESTS_VALIDATION_KERNEL_REQUESTS_H_
#define SEXTANT_TESTS_VALIDATION_KERNEL_REQUESTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/csv.h"

namespace sextant {

// Each a table in Markdown: kind of kernel, type and GPU, errors of AnalyzeOperation's
// predicted_forward on the named accelerator (of collectives GetLinkTimes' durations), and the
// share of rows within its interval. Scored are rows of the kernels that the engine brings along,
// without those that are its points: every 7th of multiplications and attention, every row of the
// others.
//
// Errors: kInvalidArgument naming a column that can't be read; those of the calls.
absl::StatusOr<std::string> MatmulRequests(const std::vector<CsvRow>& rows);
absl::StatusOr<std::string> AttentionRequests(const std::vector<CsvRow>& rows);
absl::StatusOr<std::string> ExpertRequests(const std::vector<CsvRow>& rows);
absl::StatusOr<std::string> CollectiveRequests(const std::vector<CsvRow>& rows);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_KERNEL_REQUESTS_H_
