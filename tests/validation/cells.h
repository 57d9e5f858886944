// Cells of a table's row.
#ifndef SEXTANT_TESTS_VALIDATION_CELLS_H_
#define SEXTANT_TESTS_VALIDATION_CELLS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "tests/support/csv.h"

namespace sextant {

// Empty where there is no such column.
std::string Cell(const CsvRow& row, const std::string& column);

// Absent where the cell is empty or no number; "4" and "4.0" are both 4.
absl::optional<int64_t> WholeCell(const CsvRow& row, const std::string& column);

// The same; kInvalidArgument "`what` not published" where absent.
absl::StatusOr<int64_t> RequiredCell(const CsvRow& row, const std::string& column,
                                     const std::string& what);

// "17.43 GB" is 17.43e9 bytes, "47.96 GiB" 47.96 x 2^30, "28965.4 MB" 28965.4 x `megabyte`.
// Absent for anything else.
absl::optional<Bytes> PublishedBytes(const std::string& text, double megabyte = 1e6);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_CELLS_H_
