// Comma-separated tables.
#ifndef SEXTANT_TESTS_SUPPORT_CSV_H_
#define SEXTANT_TESTS_SUPPORT_CSV_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant {

// A row's cells by the names of their columns.
using CsvRow = std::map<std::string, std::string>;

// Parses the rows below the first one, which names the columns. RFC 4180: a quoted cell may hold
// commas, line ends and doubled quotes. Blank lines are skipped.
//
// Errors: kInvalidArgument naming the line of a row whose number of cells differs from that of the
// columns, of an unclosed quote, and of a column without a name or named twice.
absl::StatusOr<std::vector<CsvRow>> ParseCsv(absl::string_view text);

// ParseCsv() of a file; kNotFound where it can't be read.
absl::StatusOr<std::vector<CsvRow>> ReadCsv(const std::string& path);

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_CSV_H_
