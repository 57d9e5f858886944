#include "client/log_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(LogAxis, IsEvenInPowers) {
  const LogAxis axis = {.low = -1, .high = 3};
  EXPECT_DOUBLE_EQ(axis.Fraction(0.1), 0);
  EXPECT_DOUBLE_EQ(axis.Fraction(10), 0.5);
  EXPECT_DOUBLE_EQ(axis.Fraction(1000), 1);
  EXPECT_DOUBLE_EQ(axis.Fraction(1e5), 1.5);
  EXPECT_DOUBLE_EQ(axis.ValueAt(0.25), 1);
}

TEST(LogAxis, HasFewTicks) {
  EXPECT_THAT((LogAxis{.low = -1.2, .high = 2.9}).Ticks(9), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT((LogAxis{.low = 0, .high = 10}).Ticks(6), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT((LogAxis{.low = 0, .high = 11}).Ticks(6), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT((LogAxis{.low = 0.2, .high = 0.9}).Ticks(6), SizeIs(0));
  for (double span = 0.5; span < 60; span += 0.25) {
    for (const int most : {2, 6, 9}) {
      const LogAxis axis = {.low = -3.3, .high = -3.3 + span};
      EXPECT_LE(axis.Ticks(most).size(), static_cast<size_t>(most)) << span;
    }
  }
}

TEST(AxesOf, HoldAllThatIsDrawn) {
  RooflineChart chart;
  chart.memory_bytes_per_second = 1e10;
  chart.ridge = 100;
  chart.roofs = {{"matrix products", 1e12}, {"other arithmetic", 1e11}};
  chart.points = {
      {"forward", 'F', 200, 8e11, 1}, {"far", 'U', 1e-6, 1e-3, 1}, {"near", 'B', 1e9, 2e13, 1}};
  const ChartAxes axes = AxesOf(chart);
  for (const ChartPoint& point : chart.points) {
    EXPECT_GT(axes.intensity.Fraction(point.intensity), 0) << point.name;
    EXPECT_LT(axes.intensity.Fraction(point.intensity), 1) << point.name;
    EXPECT_GT(axes.flops_per_second.Fraction(point.flops_per_second), 0) << point.name;
    EXPECT_LT(axes.flops_per_second.Fraction(point.flops_per_second), 1) << point.name;
  }
}

// However few points, both axes can be read.
TEST(AxesOf, HoldTwoPowersOfTen) {
  for (double rate = 1e6; rate < 1e18; rate *= 1.7) {
    RooflineChart chart;
    chart.memory_bytes_per_second = 3.3e9;
    chart.roofs = {{"all arithmetic", rate}};
    chart.ridge = rate / chart.memory_bytes_per_second;
    const ChartAxes axes = AxesOf(chart);
    EXPECT_GE(axes.intensity.Ticks(9).size(), 2u) << rate;
    EXPECT_GE(axes.flops_per_second.Ticks(9).size(), 2u) << rate;
  }
}

TEST(PowerText, HasSiPrefixes) {
  const std::pair<int, const char*> cases[] = {
      {0, "1"},     {1, "10"},     {2, "100"},   {3, "1 k"},    {5, "100 k"}, {6, "1 M"},
      {12, "1 T"},  {14, "100 T"}, {15, "1 P"},  {20, "100 E"}, {21, "1e21"}, {-1, "0.1"},
      {-2, "0.01"}, {-3, "0.001"}, {-4, "1e-4"}, {-12, "1e-12"}};
  for (const auto& [power, text] : cases) EXPECT_EQ(PowerText(power), text) << power;
}

}  // namespace
}  // namespace sextant
