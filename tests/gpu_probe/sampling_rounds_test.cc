#include "gpu_probe/sampling_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

// The groups of `points`: "first 2; 0 1 x3 of 7" is point 2 as a first one, and then 0 and 1 with
// three passes in level 7.
std::string GroupsText(const std::vector<Point>& points) {
  std::vector<std::string> groups;
  for (const Group& group : GroupsOf(points)) {
    groups.push_back(absl::StrCat(group.first ? "first " : "", absl::StrJoin(group.points, " "),
                                  group.pass_count > 1 ? absl::StrCat(" x", group.pass_count) : "",
                                  group.level > 0 ? absl::StrCat(" of ", group.level) : ""));
  }
  return absl::StrJoin(groups, "; ");
}

TEST(GroupsTest, FirstPointsAloneThenWhatIsVisitedOnceThenTheRest) {
  EXPECT_EQ(GroupsText({PointOf("a", 3), PointOf("b", 1), PointOf("a", 3, true), PointOf("a", 1),
                        PointOf("d", 1), PointOf("c", 1, true)}),
            "first 2; first 5; 1; 4; 0 2 3 x3")
      << "with the first point's other passes";
}

TEST(GroupsTest, FirstPointsThatComeAgainAloneComeLast) {
  EXPECT_EQ(GroupsText({PointOf("a", 3, true), PointOf("b", 3), PointOf("c", 1, true)}),
            "first 0; first 2; 1 x3; 0 x3");
}

// Seconds apart from its first pass, whatever else its phase has.
TEST(GroupsTest, AFirstPointThatComesAgainWhereOthersAreVisitedOnceComesLast) {
  EXPECT_EQ(GroupsText({PointOf("a", 1), PointOf("a", 2, true), PointOf("a", 1), PointOf("b", 1)}),
            "first 1; 0 2; 3; 1 x2");
}

TEST(GroupsTest, SustainedPointsDoNotCountAsVisitedOnce) {
  std::vector<Point> points = {PointOf("a", 1), PointOf("b", 1)};
  points[0].sustained_seconds = 2;
  EXPECT_EQ(GroupsText(points), "1; 0");
}

TEST(GroupsTest, ThePhaseOfTheLastFirstPointComesNext) {
  EXPECT_EQ(GroupsText({PointOf("a", 1), PointOf("b", 1), PointOf("c", 1), PointOf("c", 1, true)}),
            "first 3; 2; 0; 1");
}

// A first point has the lowest, whatever its own; one of several passes is before level 2 all the
// same; and a phase has a group in each of its levels.
TEST(GroupsTest, LevelsComeBeforeEverythingElse) {
  std::vector<Point> points = {PointOf("a", 3), PointOf("b", 1), PointOf("a", 3),
                               PointOf("b", 1, true)};
  const int levels[] = {1, 2, 3, 2};
  for (size_t i = 0; i < points.size(); ++i) points[i].level = levels[i];
  EXPECT_EQ(GroupsText(points), "first 3 of 1; 0 x3 of 1; 1 of 2; 2 x3 of 3");
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
