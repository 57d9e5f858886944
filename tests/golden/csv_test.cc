#include "tests/support/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Csv, NamesCellsByTheirColumns) {
  const auto rows = ParseCsv("a,b\n1,2\n\n3,\n");
  ASSERT_THAT(rows, IsOk());
  EXPECT_THAT(*rows, ElementsAre(ElementsAre(Pair("a", "1"), Pair("b", "2")),
                                 ElementsAre(Pair("a", "3"), Pair("b", ""))));
}

TEST(Csv, QuotedCellsHoldCommasLineEndsAndQuotes) {
  const auto rows = ParseCsv("a,b\r\n\"x, y\nz\",\"{\"\"k\"\": 1}\"\r\n\"\",2");
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).at("a"), "x, y\nz");
  EXPECT_EQ(rows->at(0).at("b"), "{\"k\": 1}");
  EXPECT_EQ(rows->at(1).at("a"), "");
  EXPECT_EQ(rows->at(1).at("b"), "2");
}

TEST(Csv, ABrokenTableNamesItsLine) {
  // The quoted line end counts, so that the ragged row stands on line 4.
  EXPECT_THAT(ParseCsv("a,b\n\"1\n1\",2\n3\n").status().message(), HasSubstr("line 4: 1 cells"));
  EXPECT_THAT(ParseCsv("a,b\n1,\"2\n").status().message(), HasSubstr("line 2: a quote"));
  EXPECT_THAT(ParseCsv("a,a\n").status().message(), HasSubstr("'a'"));
  EXPECT_THAT(ParseCsv("a,\n").status().message(), HasSubstr("''"));
  EXPECT_THAT(ParseCsv("").status().message(), HasSubstr("no columns"));
  EXPECT_EQ(ReadCsv("/no/such/table.csv").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sextant
