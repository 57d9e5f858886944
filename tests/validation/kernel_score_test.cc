#include "tests/validation/kernel_score.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"
#include "tests/validation/kernel_score_table.h"

namespace sextant {
namespace {

// 100 FLOPs at 10 a second, 30 bytes at 5 a second.
TEST(Roofline, IsTheSlowerOfArithmeticAndMemory) {
  const Roofline roofline = {.flops_per_second = 10, .bytes_per_second = 5};
  EXPECT_EQ(roofline.Seconds({.flops = 100, .bytes = 30}), 10);
  EXPECT_EQ(roofline.Seconds({.flops = 100, .bytes = 300}), 60);
}

TEST(Roofline, OfWhatWasSeenHasTheBestRates) {
  const Roofline roofline = RooflineSeen(
      {{.flops = 100, .bytes = 10, .seconds = 2}, {.flops = 10, .bytes = 100, .seconds = 4}});
  EXPECT_EQ(roofline.flops_per_second, 50);
  EXPECT_EQ(roofline.bytes_per_second, 25);
}

TEST(Roofline, OfADatasheetIsTheCatalogues) {
  const absl::optional<Roofline> h100 = DatasheetRoofline("h100-sxm", DataType::kBf16);
  ASSERT_TRUE(h100.has_value());
  EXPECT_DOUBLE_EQ(h100->flops_per_second, 989.4e12);
  EXPECT_DOUBLE_EQ(h100->bytes_per_second, 3350e9);
  EXPECT_FALSE(DatasheetRoofline("a100-sxm-80", DataType::kFp8E4m3).has_value());
  EXPECT_FALSE(DatasheetRoofline("abacus", DataType::kBf16).has_value());
}

// Predicted 1.1 and 0.8 of what was measured; the second outside its interval.
TEST(Scoring, CountsErrorsAndIntervals) {
  Scoring scoring(absl::nullopt, {.flops_per_second = 1, .bytes_per_second = 1});
  scoring.Add({.flops = 1, .bytes = 0.5, .seconds = 2},
              {.expected = Seconds(2.2), .low = Seconds(2), .high = Seconds(2.4)});
  scoring.Add({.flops = 1, .bytes = 5, .seconds = 10},
              {.expected = Seconds(8), .low = Seconds(7), .high = Seconds(9)});
  KernelScore score;
  scoring.FillIn(score);
  EXPECT_EQ(score.ours.count, 2);
  EXPECT_NEAR(score.ours.worst, 0.2, 1e-12);
  EXPECT_NEAR(score.ours.median_signed, -0.05, 1e-12);
  EXPECT_EQ(score.in_interval, 0.5);
  EXPECT_NEAR(score.measured_peak.median, 0.5, 1e-12);  // both half as long as measured
  EXPECT_EQ(score.datasheet.count, 0);
  EXPECT_NE(KernelScoreTable({.scores = {score}, .left_out = {"something: too few"}})
                .find("Left out: something: too few"),
            std::string::npos);
}

TEST(TableDataType, KnowsTheTablesNames) {
  EXPECT_EQ(*TableDataType("fp8_block"), DataType::kFp8E4m3);
  EXPECT_FALSE(TableDataType("fp7").ok());
}

TEST(IntegerOf, NamesTheColumnAtFault) {
  EXPECT_EQ(*IntegerOf({{"batch", "12"}}, "batch"), 12);
  EXPECT_FALSE(IntegerOf({{"batch", "x"}}, "batch").ok());
  EXPECT_NE(NumberOf({}, "seconds").status().message().find("seconds"), std::string::npos);
}

}  // namespace
}  // namespace sextant
