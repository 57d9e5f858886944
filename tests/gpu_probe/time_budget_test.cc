#include "gpu_probe/time_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sextant::probe {
namespace {

using ::testing::DoubleNear;

Point PointOf(double sustained_seconds) {
  Point point;
  point.sustained_seconds = sustained_seconds;
  return point;
}

TEST(WishTest, IsTheSumOfThePoints) {
  const std::vector<Point> points = {PointOf(0), PointOf(1), PointOf(0)};
  const std::vector<double> costs_seconds = {0.5, 9, 0.25};
  const GroupWish all = WishOf({.points = {0, 1, 2}}, points, costs_seconds);
  EXPECT_DOUBLE_EQ(all.sampling_seconds, 0.75);
  EXPECT_DOUBLE_EQ(all.sustained_seconds, 1.2);
  EXPECT_TRUE(all.once);
  EXPECT_FALSE(all.first);
  EXPECT_FALSE(WishOf({.points = {0}, .pass_count = 3}, points, costs_seconds).once);
  EXPECT_FALSE(WishOf({.points = {1}}, points, costs_seconds).once) << "a run of its own length";
  const GroupWish first = WishOf({.points = {0}, .first = true}, points, costs_seconds);
  EXPECT_TRUE(first.first);
  EXPECT_FALSE(first.once);
}

TEST(WishTest, KnowsWhatTheFewestUsefulPointsTake) {
  std::vector<Point> points(4, PointOf(0));
  const std::vector<double> costs_seconds(4, 0.5);
  const Group group = {.points = {0, 1, 2, 3}, .level = 7};
  EXPECT_EQ(WishOf(group, points, costs_seconds).useful_seconds, 0) << "each is of use";
  EXPECT_EQ(WishOf(group, points, costs_seconds).level, 7);
  for (Point& point : points) point.fewest_useful = 3;
  EXPECT_DOUBLE_EQ(WishOf(group, points, costs_seconds).useful_seconds, 1.5);
  for (Point& point : points) point.fewest_useful = 9;
  EXPECT_DOUBLE_EQ(WishOf(group, points, costs_seconds).useful_seconds, 2) << "no more than all";
}

TEST(LevelEndTest, KeepsTimeForWhatLaterLevelsCanNotDoWithout) {
  const std::vector<GroupWish> wishes = {{.sampling_seconds = 9, .level = 1},
                                         {.sampling_seconds = 9, .level = 1},
                                         {.sustained_seconds = 1, .level = 2},
                                         {.sampling_seconds = 9, .useful_seconds = 3, .level = 3},
                                         {.sampling_seconds = 9, .useful_seconds = 2, .level = 4},
                                         {.sampling_seconds = 9, .useful_seconds = 1, .level = 5}};
  // 5.5 s of 10 may be kept: 1 and 1.1 x 3, not the 2.2 that would make it 6.5, and then 1.1.
  EXPECT_DOUBLE_EQ(LevelEndSeconds(wishes, 0, 10), 4.6);
  EXPECT_DOUBLE_EQ(LevelEndSeconds(wishes, 5, 15), 9.6);
  // 0.55 s of 1: none of them fits.
  EXPECT_DOUBLE_EQ(LevelEndSeconds(wishes, 0, 1), 1);
  EXPECT_DOUBLE_EQ(LevelEndSeconds(absl::MakeConstSpan(wishes).subspan(5), 3, 9), 9);
}

TEST(LevelEndTest, ALevelKeepsWhatItCanNotDoWithoutItself) {
  const std::vector<GroupWish> wishes = {{.sampling_seconds = 9, .useful_seconds = 8, .level = 1},
                                         {.sampling_seconds = 9, .useful_seconds = 3, .level = 2},
                                         {.sampling_seconds = 9, .useful_seconds = 1, .level = 3}};
  EXPECT_DOUBLE_EQ(LevelEndSeconds(wishes, 0, 10), 8.9);
}

TEST(GroupEndTest, SharesByWhatSamplesTake) {
  const std::vector<GroupWish> wishes = {{.sampling_seconds = 0.1}, {.sampling_seconds = 0.3}};
  EXPECT_DOUBLE_EQ(GroupEndSeconds(wishes, 10, 14), 11);
  EXPECT_DOUBLE_EQ(GroupEndSeconds(absl::MakeConstSpan(wishes).subspan(1), 12, 14), 14);
}

TEST(GroupEndTest, KeepsTimeForSustainedPoints) {
  const std::vector<GroupWish> wishes = {
      {.sampling_seconds = 1}, {.sustained_seconds = 1.2}, {.sampling_seconds = 1}};
  // 1.2 s of 10 are kept; the plain two get half of 8.8 each.
  EXPECT_DOUBLE_EQ(GroupEndSeconds(wishes, 0, 10), 4.4);
  EXPECT_DOUBLE_EQ(GroupEndSeconds(absl::MakeConstSpan(wishes).subspan(1), 4.4, 10), 5.6);
  // 1.2 s of 2 are more than half: nothing is kept.
  EXPECT_DOUBLE_EQ(GroupEndSeconds(wishes, 0, 2), 1);
}

TEST(GroupEndTest, SustainedPointsAloneHaveAllTheTime) {
  EXPECT_DOUBLE_EQ(GroupEndSeconds({{.sustained_seconds = 1.2}}, 3, 9), 9);
}

TEST(GroupEndTest, FirstPointsGetTwoFifthsTogether) {
  const std::vector<GroupWish> wishes = {{.sampling_seconds = 1, .first = true},
                                         {.sampling_seconds = 1, .first = true},
                                         {.sampling_seconds = 10}};
  EXPECT_DOUBLE_EQ(GroupEndSeconds(wishes, 0, 10), 2);
  // Where what they take alone gives them more they get that.
  EXPECT_DOUBLE_EQ(GroupEndSeconds(absl::MakeConstSpan(wishes).first(2), 0, 10), 5);
}

TEST(GroupEndTest, WhatIsVisitedOnceGetsUpToThreeFifthsTogether) {
  const std::vector<GroupWish> wishes = {{.sampling_seconds = 0.1, .once = true},
                                         {.sampling_seconds = 0.1, .once = true},
                                         {.sampling_seconds = 9.8}};
  EXPECT_DOUBLE_EQ(GroupEndSeconds(wishes, 0, 10), 3);
  EXPECT_DOUBLE_EQ(GroupEndSeconds(absl::MakeConstSpan(wishes).subspan(1), 1, 10), 6.4);
  EXPECT_DOUBLE_EQ(GroupEndSeconds(absl::MakeConstSpan(wishes).subspan(2), 2, 10), 10);
}

TEST(OnceEndTest, LeavesTimeToTheOthersWhereThereAreAny) {
  const std::vector<GroupWish> wishes = {{.sampling_seconds = 1, .once = true},
                                         {.sampling_seconds = 1}};
  EXPECT_DOUBLE_EQ(OnceEndSeconds(wishes, 5, 15), 11);
  EXPECT_DOUBLE_EQ(OnceEndSeconds(absl::MakeConstSpan(wishes).first(1), 5, 15), 15);
}

TEST(VisitSecondsTest, SharesByCost) {
  EXPECT_DOUBLE_EQ(VisitSeconds({1.0, 3.0}, 8), 2);
  EXPECT_DOUBLE_EQ(VisitSeconds({3.0}, 8), 8);
  // Unknown costs count as the mean of the others.
  EXPECT_DOUBLE_EQ(VisitSeconds({absl::nullopt, 1.0, 3.0}, 9), 3);
  EXPECT_DOUBLE_EQ(VisitSeconds({absl::nullopt, absl::nullopt}, 4), 2);
  // Points that are left out cost nothing.
  EXPECT_DOUBLE_EQ(VisitSeconds({0.0, 0.0}, 4), 4);
  EXPECT_DOUBLE_EQ(VisitSeconds({absl::nullopt, 0.0}, 4), 4);
}

Point Work(const char* phase, const char* unit, double work) {
  Point point;
  point.phase = phase;
  point.unit = unit;
  point.work = work;
  return point;
}

TEST(BestRatesTest, KnowsTheBestOfThePhaseElseOfTheUnit) {
  BestRates rates;
  const Point shape = Work("matmul", "FLOP/s", 1e9);
  EXPECT_FALSE(rates.LeastSeconds(shape).has_value());
  rates.Note(Work("stream", "B/s", 1), 1);
  EXPECT_FALSE(rates.LeastSeconds(shape).has_value()) << "bytes say nothing of FLOPs";
  rates.Note(Work("registers", "FLOP/s", 100), 1e-6);  // 1e8 a second
  EXPECT_THAT(rates.LeastSeconds(shape).value(), DoubleNear(10, 1e-9));
  rates.Note(Work("matmul", "FLOP/s", 100), 2e-6);  // 5e7
  EXPECT_THAT(rates.LeastSeconds(shape).value(), DoubleNear(20, 1e-9));
  rates.Note(Work("matmul", "FLOP/s", 100), 4e-6);  // slower: the best stays
  EXPECT_THAT(rates.LeastSeconds(shape).value(), DoubleNear(20, 1e-9));
}

TEST(BestRatesTest, WorkOfNothingHasNoRate) {
  BestRates rates;
  rates.Note(Work("matmul", "FLOP/s", 0), 1);
  EXPECT_FALSE(rates.LeastSeconds(Work("matmul", "FLOP/s", 1)).has_value());
}

}  // namespace
}  // namespace sextant::probe
