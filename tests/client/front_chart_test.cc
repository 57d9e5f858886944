#include "client/chart/front_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/report/plan_text.h"
#include "client/report/text.h"
#include "tests/client/sample_front.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Points of 100 s in 200 GiB, 101 s in 199 GiB and so on.
std::vector<std::pair<double, double>> LongFront(int count) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < count; ++i) points.emplace_back(100 + i, 200 - i);
  return points;
}

std::string LettersOf(const FrontChart& chart) {
  std::string letters;
  for (const FrontPoint& point : chart.points) letters += point.letter;
  return letters;
}

TEST(FrontChart, HasEveryPointWithItsIntervals) {
  const FrontChart chart = FrontChartOf(SampleFront());
  EXPECT_EQ(chart.title, "toy, 64 x h100-sxm");
  EXPECT_EQ(chart.usable_gib, 80);
  ASSERT_EQ(LettersOf(chart), "ABC");
  const FrontPoint& second = chart.points[1];
  EXPECT_EQ(second.seconds.expected(), 12);
  EXPECT_DOUBLE_EQ(second.seconds.low(), 10.8);
  EXPECT_DOUBLE_EQ(second.seconds.high(), 14.4);
  EXPECT_EQ(second.gib.expected(), 60);
  EXPECT_DOUBLE_EQ(second.gib.low(), 54);
  EXPECT_DOUBLE_EQ(second.gib.high(), 72);
  EXPECT_EQ(second.recompute, "norms");
  EXPECT_EQ(second.layout, "tp 4 sp cp 2 pp 2 dp 4 zero 1 mbs 1");
  EXPECT_TRUE(chart.points[0].chosen && chart.points[0].tie);
  EXPECT_FALSE(second.chosen || second.tie);
}

// 23 points: every second has a letter. 100: at 0, 9, ... 99. 14: 13 steps of points for 11 of
// letters, 1.18 each: 0, 1.2, 2.4, 3.5, 4.7, 5.9, 7.1, 8.3, 9.5, 10.6, 11.8, 13, rounded.
TEST(FrontChart, ThinsALongFrontEvenly) {
  EXPECT_EQ(LettersOf(FrontChartOf(PlanWithFront(LongFront(12)))), "ABCDEFGHIJKL");
  EXPECT_EQ(LettersOf(FrontChartOf(PlanWithFront(LongFront(14)))), "ABC DEFGHI JKL");
  EXPECT_EQ(LettersOf(FrontChartOf(PlanWithFront(LongFront(23)))), "A B C D E F G H I J K L");
  const FrontChart chart = FrontChartOf(PlanWithFront(LongFront(100)));
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(chart.points[i].letter, i % 9 == 0 ? static_cast<char>('A' + i / 9) : kUnnamed) << i;
  }
  EXPECT_EQ(chart.named, 12u);
  EXPECT_EQ(NamedWords(chart), "12 of 100, evenly spaced, have a letter");
  EXPECT_EQ(NamedWords(FrontChartOf(SampleFront())), "");
}

TEST(FrontChart, LeavesOutWhatNoAxisCanShow) {
  const v1::Plan plan = PlanWithFront({{0, 1},
                                       {-1, 1},
                                       {1e90, 1},
                                       {1e-90, 1},
                                       {1, 1e90},
                                       {1, 1e-90},
                                       {kNan, 1},
                                       {kInfinity, 1},
                                       {1, 0},
                                       {1, -1},
                                       {1, kNan},
                                       {1, kInfinity}});
  EXPECT_TRUE(FrontChartOf(plan).points.empty());
  EXPECT_TRUE(FrontChartOf(v1::Plan()).points.empty());
  EXPECT_EQ(FrontSection(plan), "");
}

TEST(FrontChart, TakesIntervalsWithoutEndsAsExact) {
  v1::Plan plan = PlanWithFront({{10, 70}});
  v1::Interval& seconds = *plan.mutable_search()->mutable_front(0)->mutable_step_seconds();
  seconds.set_low(0);
  seconds.set_high(kInfinity);
  const FrontPoint point = FrontChartOf(plan).points[0];
  EXPECT_EQ(point.seconds.low(), 10);
  EXPECT_EQ(point.seconds.high(), 10);
}

// Points: 10 to 20 s, with 4 % of the length on both sides; up to 80 GiB usable and 2 % of it.
TEST(FrontAxes, EncloseThePointsAndUsableMemory) {
  const FrontAxes axes = FrontAxesOf(FrontChartOf(SampleFront()), FrontExtent::kPoints);
  EXPECT_DOUBLE_EQ(axes.seconds.low, 9.6);
  EXPECT_DOUBLE_EQ(axes.seconds.high, 20.4);
  EXPECT_EQ(axes.gib.low, 0);
  EXPECT_DOUBLE_EQ(axes.gib.high, 81.6);
  EXPECT_TRUE(axes.shows_usable);
}

// Intervals: 9 to 24 s, 27 to 84 GiB.
TEST(FrontAxes, EncloseIntervals) {
  const FrontAxes axes = FrontAxesOf(FrontChartOf(SampleFront()), FrontExtent::kIntervals);
  EXPECT_DOUBLE_EQ(axes.seconds.low, 9 - 0.04 * 15);
  EXPECT_DOUBLE_EQ(axes.seconds.high, 24 + 0.04 * 15);
  EXPECT_DOUBLE_EQ(axes.gib.high, 84 * 1.02);
}

// As far as a quarter beyond the points: 8 to 25 s.
TEST(FrontAxes, CutWideIntervals) {
  v1::Plan plan = SampleFront();
  v1::LayoutSearchResult& search = *plan.mutable_search();
  search.mutable_front(0)->mutable_step_seconds()->set_low(1);
  search.mutable_front(2)->mutable_step_seconds()->set_high(1000);
  const FrontAxes axes = FrontAxesOf(FrontChartOf(plan), FrontExtent::kIntervals);
  EXPECT_DOUBLE_EQ(axes.seconds.low, 8 - 0.04 * 17);
  EXPECT_DOUBLE_EQ(axes.seconds.high, 25 + 0.04 * 17);
}

// All in the upper half: from a quarter of the length below the smallest.
TEST(FrontAxes, BeginNearLargePoints) {
  const FrontChart chart = FrontChartOf(PlanWithFront({{10, 71.6}, {11, 61.6}}));
  const FrontAxes axes = FrontAxesOf(chart, FrontExtent::kPoints);
  EXPECT_DOUBLE_EQ(axes.gib.high, 81.6);
  EXPECT_DOUBLE_EQ(axes.gib.low, 81.6 - 1.25 * 20);
}

TEST(FrontAxes, LeaveOutUsableMemoryFarAbove) {
  const FrontChart chart = FrontChartOf(PlanWithFront({{10, 5}, {11, 4}}));
  const FrontAxes axes = FrontAxesOf(chart, FrontExtent::kPoints);
  EXPECT_FALSE(axes.shows_usable);
  EXPECT_DOUBLE_EQ(axes.gib.high, 5.1);
}

// The last point is at 20 of 9.6 to 20.4 s, 0.963 of the axis: dot 160.9 of 0 to 167, cell 80; and
// at 30 of 81.6 GiB, 0.632 from above: dot 39.8 of 0 to 63, row 10. The first: dot 6.2, cell 3;
// 0.142 from above: dot 9, row 2.
TEST(FrontSection, PlotsPointsWhereTheyAre) {
  const std::string text = FrontSection(SampleFront());
  EXPECT_THAT(text, HasSubstr("\nTime against memory\n"));
  EXPECT_THAT(text, HasSubstr("Usable: 80.00 GiB (the dotted line)."));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  size_t top = 0;
  while (top < lines.size() && lines[top] != "  GiB") ++top;
  ASSERT_LT(top + 20, lines.size()) << text;
  const auto column_of = [&lines](size_t row, char letter) {
    const std::string& line = lines[row];
    return DisplayWidth(line.substr(0, line.find(letter)));
  };
  EXPECT_EQ(column_of(top + 1 + 2, 'A'), 10 + 3);
  EXPECT_EQ(column_of(top + 1 + 10, 'C'), 10 + 80);
  EXPECT_THAT(lines[top + 18], HasSubstr("10             12"));
  EXPECT_THAT(lines[top + 18], ::testing::EndsWith("20 s"));
}

TEST(FrontSection, NamesItsLayouts) {
  const std::string text = FrontSection(SampleFront());
  EXPECT_THAT(text, HasSubstr("  A  =  10.0 s  70.00 GiB  none       tp 1 pp 1 dp 64 mbs 1\n"
                              "  B     12.0 s  60.00 GiB  norms      tp 4 sp cp 2 pp 2 dp 4 zero 1 "
                              "mbs 1\n"
                              "  C     20.0 s  30.00 GiB  none       tp 1 pp 1 dp 64 mbs 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("left out")));
  EXPECT_THAT(FrontSection(PlanWithFront(LongFront(100))),
              HasSubstr("12 of 100, evenly spaced, have a letter, 88 are left out."));
}

TEST(FrontSection, NeedsTwoPoints) {
  EXPECT_EQ(FrontSection(PlanWithFront({})), "");
  EXPECT_EQ(FrontSection(PlanWithFront({{10, 70}})), "");
}

TEST(FrontSection, IsNarrowForAnyValues) {
  const std::vector<std::pair<double, double>> cases[] = {
      {{10, 70}, {10, 70}},
      {{10, 70}, {10, 20}},
      {{10, 70}, {20, 70}},
      {{1e-9, 2e-9}, {2e-9, 1e-9}},
      {{1e-12, 90000}, {1e9, 1e-9}},
      {{9e8, 90000}, {1e9, 80000}},
      {{0.999, 70}, {1.001, 69}},
      std::vector<std::pair<double, double>>(12, {10, 70}),
      LongFront(100)};
  for (const auto& points : cases) {
    const std::string text = FrontSection(PlanWithFront(points));
    EXPECT_THAT(text, HasSubstr("\n  A "));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(DisplayWidth(std::string(line)), kTextWidth) << line;
    }
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf")));
  }
}

TEST(FrontSection, IsForSearchesAlone) {
  EXPECT_THAT(LayoutsText(SampleFront(), absl::UnixEpoch()), HasSubstr("Time against memory"));
  v1::PlanRunResponse response = SampleOfStep();
  *response.mutable_plan()->mutable_search() = SampleFront().search();
  EXPECT_THAT(PlanText(response, absl::UnixEpoch()), Not(HasSubstr("Time against memory")));
}

}  // namespace
}  // namespace sextant::client
