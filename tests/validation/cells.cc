#include "tests/validation/cells.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sextant {

std::string Cell(const CsvRow& row, const std::string& column) {
  const auto at = row.find(column);
  return at == row.end() ? "" : at->second;
}

absl::optional<int64_t> WholeCell(const CsvRow& row, const std::string& column) {
  double out = 0;
  if (!absl::SimpleAtod(Cell(row, column), &out) || out != std::floor(out) ||
      std::abs(out) > 9e15) {
    return absl::nullopt;
  }
  return static_cast<int64_t>(out);
}

absl::StatusOr<int64_t> RequiredCell(const CsvRow& row, const std::string& column,
                                     const std::string& what) {
  const absl::optional<int64_t> out = WholeCell(row, column);
  if (out.has_value()) return *out;
  return absl::InvalidArgumentError(absl::StrCat(what, " not published"));
}

absl::optional<Bytes> PublishedBytes(const std::string& text, double megabyte) {
  const size_t end = text.find_first_not_of("0123456789.");
  double number = 0;
  if (end == std::string::npos || !absl::SimpleAtod(text.substr(0, end), &number)) {
    return absl::nullopt;
  }
  const std::string unit(absl::StripAsciiWhitespace(absl::string_view(text).substr(end)));
  const double scale = unit == "GB" ? 1e9 : unit == "GiB" ? 0x1p30 : unit == "MB" ? megabyte : 0;
  if (scale == 0 || number <= 0) return absl::nullopt;
  return Bytes(std::llround(number * scale));
}

}  // namespace sextant
