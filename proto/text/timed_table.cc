#include "proto/text/timed_table.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/text/format.h"

namespace sextant::text {
namespace {

using Cells = std::vector<std::string>;

constexpr size_t kIndent = 2;

Cells TimeCells(bool has_time, const v1::TimeStatistics& time) {
  if (!has_time) return {kNoValue, kNoValue, kNoValue, ""};
  return {ShortTime(time.median_seconds()),
          time.sample_count() == 1 ? kNoValue : Percent(time.relative_spread()),
          absl::StrCat(time.sample_count()), time.stable() ? "" : "unstable"};
}

// `cells` with the time's cells inserted after the first `before`.
Cells WithTime(Cells cells, size_t before, const Cells& time) {
  cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(before), time.begin(), time.end());
  return cells;
}

bool IsRight(const std::string& heading) { return absl::StartsWith(heading, ">"); }

std::vector<Align> Aligns(const Cells& headings) {
  std::vector<Align> aligns;
  for (const std::string& heading : headings) {
    aligns.push_back(IsRight(heading) ? Align::kRight : Align::kLeft);
  }
  return aligns;
}

Cells AllHeadings(Cells headings, const Cells& after) {
  const size_t before = headings.size();
  headings.insert(headings.end(), after.begin(), after.end());
  return WithTime(std::move(headings), before, {">median", ">spread", ">n", ">"});
}

}  // namespace

TimedTable::TimedTable(Cells headings, Cells after)
    : before_(headings.size()), table_(kIndent, Aligns(AllHeadings(headings, after))) {
  Cells row = AllHeadings(std::move(headings), after);
  for (std::string& heading : row) {
    if (IsRight(heading)) heading.erase(0, 1);
  }
  table_.AddRow(std::move(row));
}

void TimedTable::AddRow(Cells cells, bool has_time, const v1::TimeStatistics& time) {
  table_.AddRow(WithTime(std::move(cells), before_, TimeCells(has_time, time)));
}

}  // namespace sextant::text
