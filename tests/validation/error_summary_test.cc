// Statistics of errors, by hand.
#include "tests/validation/error_summary.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

TEST(ErrorSummary, OfFourErrors) {
  const ErrorSummary summary = SummaryOf({0.10, -0.30, 0.02, -0.04});
  EXPECT_EQ(summary.count, 4);
  EXPECT_DOUBLE_EQ(summary.median_signed, -0.01);  // of -0.04 and 0.02
  EXPECT_DOUBLE_EQ(summary.low, -0.30);
  EXPECT_DOUBLE_EQ(summary.high, 0.10);
  EXPECT_DOUBLE_EQ(summary.median, 0.07);  // of 0.04 and 0.10
  EXPECT_DOUBLE_EQ(summary.p90, 0.30);
  EXPECT_DOUBLE_EQ(summary.worst, 0.30);
  EXPECT_DOUBLE_EQ(summary.within_3, 0.25);
  EXPECT_DOUBLE_EQ(summary.within_10, 0.75);
}

TEST(ErrorSummary, OfNoneAndOfOne) {
  EXPECT_EQ(SummaryOf({}).count, 0);
  const ErrorSummary one = SummaryOf({-0.5});
  EXPECT_DOUBLE_EQ(one.median_signed, -0.5);
  EXPECT_DOUBLE_EQ(one.median, 0.5);
  EXPECT_DOUBLE_EQ(one.low, -0.5);
  EXPECT_DOUBLE_EQ(one.high, -0.5);
}

// Nearest rank: of ten, the ninth has nine tenths at or below it.
TEST(ErrorSummary, QuantilesAreNearestRanks) {
  const std::vector<double> ten = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_DOUBLE_EQ(QuantileOf(ten, 0.9), 9);
  EXPECT_DOUBLE_EQ(QuantileOf(ten, 0.1), 1);
  EXPECT_DOUBLE_EQ(QuantileOf(ten, 0.5), 5.5);
  EXPECT_DOUBLE_EQ(QuantileOf(ten, 1), 10);
  EXPECT_DOUBLE_EQ(QuantileOf({1, 2, 3}, 0.5), 2);
}

}  // namespace
}  // namespace sextant
