#include "gpu_probe/sampling_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Point PointOf(const std::string& phase, int pass_count, bool first = false) {
  Point point;
  point.phase = phase;
  point.pass_count = pass_count;
  point.first = first;
  return point;
}

TEST(GroupsTest, FirstPointsAloneThenWhatIsVisitedOnceThenTheRest) {
  const std::vector<Point> points = {PointOf("a", 3), PointOf("b", 1), PointOf("a", 3, true),
                                     PointOf("a", 1), PointOf("d", 1), PointOf("c", 1, true)};
  const std::vector<Group> groups = GroupsOf(points);
  ASSERT_THAT(groups, SizeIs(5));
  EXPECT_THAT(groups[0].points, ElementsAre(2));
  EXPECT_TRUE(groups[0].first);
  EXPECT_EQ(groups[0].pass_count, 1);
  EXPECT_THAT(groups[1].points, ElementsAre(5));
  EXPECT_THAT(groups[2].points, ElementsAre(1));
  EXPECT_THAT(groups[3].points, ElementsAre(4));
  EXPECT_THAT(groups[4].points, ElementsAre(0, 2, 3)) << "with the first point's other passes";
  EXPECT_EQ(groups[4].pass_count, 3);
  EXPECT_FALSE(groups[4].first);
}

TEST(GroupsTest, FirstPointsThatComeAgainAloneComeLast) {
  const std::vector<Point> points = {PointOf("a", 3, true), PointOf("b", 3), PointOf("c", 1, true)};
  const std::vector<Group> groups = GroupsOf(points);
  ASSERT_THAT(groups, SizeIs(4));
  EXPECT_THAT(groups[2].points, ElementsAre(1));
  EXPECT_THAT(groups[3].points, ElementsAre(0));
  EXPECT_EQ(groups[3].pass_count, 3);
}

TEST(GroupsTest, SustainedPointsDoNotCountAsVisitedOnce) {
  std::vector<Point> points = {PointOf("a", 1), PointOf("b", 1)};
  points[0].sustained_seconds = 2;
  const std::vector<Group> groups = GroupsOf(points);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].points, ElementsAre(1));
}

TEST(GroupsTest, ThePhaseOfTheLastFirstPointComesNext) {
  const std::vector<Point> points = {PointOf("a", 1), PointOf("b", 1), PointOf("c", 1),
                                     PointOf("c", 1, true)};
  const std::vector<Group> groups = GroupsOf(points);
  ASSERT_THAT(groups, SizeIs(4));
  EXPECT_THAT(groups[0].points, ElementsAre(3));
  EXPECT_TRUE(groups[0].first);
  EXPECT_THAT(groups[1].points, ElementsAre(2));
  EXPECT_THAT(groups[2].points, ElementsAre(0));
  EXPECT_THAT(groups[3].points, ElementsAre(1));
  EXPECT_FALSE(groups[1].first);
}

TEST(GroupsTest, LevelsComeBeforeEverythingElse) {
  std::vector<Point> points = {PointOf("a", 3), PointOf("b", 1), PointOf("a", 3),
                               PointOf("b", 1, true)};
  const int levels[] = {1, 2, 3, 2};
  for (size_t i = 0; i < points.size(); ++i) points[i].level = levels[i];
  const std::vector<Group> groups = GroupsOf(points);
  ASSERT_THAT(groups, SizeIs(4));
  EXPECT_THAT(groups[0].points, ElementsAre(3));
  EXPECT_TRUE(groups[0].first);
  EXPECT_EQ(groups[0].level, 1) << "with the lowest, whatever its own";
  EXPECT_THAT(groups[1].points, ElementsAre(0)) << "of several passes, and yet before level 2";
  EXPECT_THAT(groups[2].points, ElementsAre(1));
  EXPECT_THAT(groups[3].points, ElementsAre(2)) << "the same phase as the first, of another level";
  EXPECT_EQ(groups[3].level, 3);
}

// Together they are as many as those of any other point.
TEST(VisitsTest, AFirstPointHasItsFirstPassByItself) {
  const std::vector<Point> points = {PointOf("a", 3, true), PointOf("a", 3)};
  const std::vector<Group> groups = GroupsOf(points);
  ASSERT_THAT(groups, SizeIs(2));
  const std::vector<Visit> alone = VisitsOf(groups[0], points, 1);
  ASSERT_THAT(alone, SizeIs(1));
  EXPECT_EQ(alone[0].point, 0u);
  EXPECT_EQ(alone[0].pass, 0);
  std::vector<int> passes;
  for (const Visit& visit : VisitsOf(groups[1], points, 1)) {
    if (visit.point == 0) passes.push_back(visit.pass);
  }
  EXPECT_THAT(passes, ElementsAre(1, 2));
}

TEST(VisitsTest, EachPointAsOftenAsItWants) {
  const std::vector<Point> points = {PointOf("a", 3), PointOf("a", 1), PointOf("a", 0)};
  const std::vector<Visit> visits = VisitsOf(GroupsOf(points)[0], points, 1);
  std::map<size_t, int> count;
  int pass = 0;
  for (const Visit& visit : visits) {
    ++count[visit.point];
    EXPECT_GE(visit.pass, pass);
    pass = visit.pass;
  }
  EXPECT_THAT(count,
              ElementsAre(::testing::Pair(0, 3), ::testing::Pair(1, 1), ::testing::Pair(2, 1)));
}

TEST(VisitsTest, OnePassKeepsTheOrder) {
  const std::vector<Point> points(5, PointOf("a", 1));
  const std::vector<Visit> visits = VisitsOf(GroupsOf(points)[0], points, 1);
  for (size_t i = 0; i < visits.size(); ++i) EXPECT_EQ(visits[i].point, i);
}

TEST(QuotaTest, EightToTwelveSamplesInAll) {
  for (const int passes : {0, 1, 2, 3, 4, 6}) {
    const VisitQuota quota = QuotaOf(passes);
    EXPECT_GE(quota.minimum * static_cast<size_t>(std::max(passes, 1)), 8u) << passes;
    EXPECT_EQ(quota.maximum * static_cast<size_t>(std::max(passes, 1)), 12u) << passes;
  }
}

// All 6 orders of three, about equally often: 1000 each, give or take five standard errors.
TEST(ShuffleTest, IsFair) {
  std::mt19937_64 random(3);
  std::map<std::vector<size_t>, int> count;
  for (int i = 0; i < 6000; ++i) {
    std::vector<size_t> values = {0, 1, 2};
    Shuffle(random, &values);
    ++count[values];
  }
  ASSERT_THAT(count, SizeIs(6));
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 5 * 29);
}

}  // namespace
}  // namespace sextant::probe
