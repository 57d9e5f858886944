// Comma-separated tables.
#ifndef SEXTANT_TESTS_SUPPORT_CSV_H_
#define SEXTANT_TESTS_SUPPORT_CSV_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant {

// The cells of a row by the names of their columns.
using CsvRow = std::map<std::string, std::string>;

// The rows below the first, which names the columns. RFC 4180: a quoted cell may hold commas, line
// ends and doubled quotes. Blank lines are no rows.
//
// Errors: kInvalidArgument naming the line of a row with other than as many cells as there are
// columns, of a quote that is not closed, and of a column without a name or named twice.
absl::StatusOr<std::vector<CsvRow>> ParseCsv(absl::string_view text);

// The same of a file; kNotFound where it can't be read.
absl::StatusOr<std::vector<CsvRow>> ReadCsv(const std::string& path);

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_CSV_H_
