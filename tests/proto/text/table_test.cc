#include "proto/text/table.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant::text {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoBlanksAtLineEnds) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"total", "1,000", "parameters"});
  table.AddRow({"a", "5"});
  EXPECT_EQ(table.Text(),
            "  total  1,000  parameters\n"
            "  a          5\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  Table table(0, {Align::kLeft, Align::kRight});
  table.AddRow({"\xC3\xA9", "1"});  // two bytes, one character
  table.AddRow({"ab", "2"});
  EXPECT_EQ(table.Text(), "\xC3\xA9   1\nab  2\n");
}

TEST(Table, WrapsItsLastColumnWithinItself) {
  Table table(0, {Align::kLeft, Align::kLeft});
  table.AddRow({"key", absl::StrCat(std::string(50, 'a'), " ", std::string(50, 'b'))});
  EXPECT_EQ(table.Text(),
            absl::StrCat("key  ", std::string(50, 'a'), "\n     ", std::string(50, 'b'), "\n"));
}

// A column too narrow to wrap in goes below its row.
TEST(Table, PutsACrampedColumnBelow) {
  Table table(0, {Align::kLeft, Align::kLeft});
  table.AddRow({std::string(90, 'k'), "a citation"});
  EXPECT_EQ(table.Text(), absl::StrCat(std::string(90, 'k'), "\n    a citation\n"));
}

// It need not be wide where no cell is.
TEST(Table, KeepsANarrowColumnInItsRow) {
  Table table(0, {Align::kLeft, Align::kLeft});
  table.AddRow({std::string(90, 'k'), "1f1b"});
  table.AddRow({"a", "dual"});
  EXPECT_EQ(table.Text(),
            absl::StrCat(std::string(90, 'k'), "  1f1b\na", std::string(91, ' '), "dual\n"));
}

TEST(Table, CutsWhatCannotWrap) {
  Table table(0, {Align::kLeft, Align::kRight});
  table.AddRow({std::string(200, 'k'), "1"});
  EXPECT_EQ(table.Text(), absl::StrCat(std::string(96, 'k'), "...\n"));
}

TEST(Wrap, BreaksAtBlanksAndHangs) {
  const std::string a(60, 'a');
  const std::string b(60, 'b');
  EXPECT_EQ(Wrap("- ", absl::StrCat(a, "\n ", b), 4), absl::StrCat("- ", a, "\n    ", b, "\n"));
}

TEST(Wrap, KeepsANumberAndItsPercentSignTogether) {
  const std::string a(90, 'a');
  EXPECT_EQ(Wrap("", absl::StrCat(a, " (12.00 %)."), 2),
            absl::StrCat(a, "\n  (12.00 %).\n"));  // "(12.00" alone would fit
  EXPECT_EQ(Wrap("", absl::StrCat(a, " (< 0.01 %)"), 2), absl::StrCat(a, "\n  (< 0.01 %)\n"));
  EXPECT_EQ(Wrap("", absl::StrCat(a, " this <- it"), 2), absl::StrCat(a, " this <-\n  it\n"));
}

TEST(Wrap, FillsLinesToTheLastColumn) {
  const std::string a(49, 'a');
  EXPECT_EQ(Wrap("", absl::StrCat(a, " ", a), 0), absl::StrCat(a, " ", a, "\n"));  // 99 columns
  EXPECT_EQ(Wrap("", absl::StrCat(a, " a", a), 0), absl::StrCat(a, "\na", a, "\n"));
}

TEST(Wrap, BreaksWordsThatAreLongerThanALine) {
  EXPECT_EQ(Wrap("  ", std::string(150, 'u'), 4),
            absl::StrCat("  ", std::string(97, 'u'), "\n    ", std::string(53, 'u'), "\n"));
}

TEST(Wrap, OfNothingIsTheFirstLine) { EXPECT_EQ(Wrap("  counts  ", "", 4), "  counts\n"); }

// Rows that wrap are several lines of one text.
TEST(Table, GivesItsRowsOneByOne) {
  Table table(2, {Align::kRight, Align::kLeft});
  table.AddRow({"1", "short"});
  table.AddRow({"22", std::string(95, 'a') + " b"});
  const std::vector<std::string> rows = table.RowTexts();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], "   1  short\n");
  EXPECT_EQ(rows[0] + rows[1], table.Text());
  EXPECT_NE(rows[1].find('\n'), rows[1].size() - 1);
}

}  // namespace
}  // namespace sextant::text
