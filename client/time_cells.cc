#include "client/time_cells.h"

#include "absl/strings/str_cat.h"
#include "client/format.h"

namespace sextant {

std::vector<std::string> TimeHeadings() { return {"median", "spread", "n", ""}; }

std::vector<Align> TimeAligns() {
  return {Align::kRight, Align::kRight, Align::kRight, Align::kRight};
}

std::vector<std::string> TimeCells(bool present, const v1::TimeStatistics& time) {
  if (!present) return {kNoValue, kNoValue, kNoValue, ""};
  return {ShortTime(time.median_seconds()),
          time.sample_count() == 1 ? kNoValue : Percent(time.relative_spread()),
          absl::StrCat(time.sample_count()), time.stable() ? "" : "unstable"};
}

}  // namespace sextant
