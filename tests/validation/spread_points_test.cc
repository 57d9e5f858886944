#include "tests/validation/spread_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// On a line, around 4: 5 is nearest, then the ends 0 and 10, then 2 (2 from 0, as far as 8 from 10,
// but first), then 8.
TEST(SpreadPoints, TakesTheFarthestOfThoseLeft) {
  const std::vector<TermPosition> positions = {{5, 0, 0}, {0, 0, 0}, {10, 0, 0},
                                               {2, 0, 0}, {8, 0, 0}, {9.5, 0, 0}};
  EXPECT_THAT(SpreadPoints(positions, {4, 0, 0}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(SpreadPoints(positions, {4, 0, 0}, 5), ElementsAre(0, 1, 2, 3, 4));
}

// All three axes count alike.
TEST(SpreadPoints, MeasuresAlongEveryAxis) {
  const std::vector<TermPosition> positions = {{0, 0, 0}, {2, 0, 0}, {0, 3, 0}, {0, 0, 4}};
  EXPECT_THAT(SpreadPoints(positions, {0, 0, 0}, 4), ElementsAre(0, 3, 2, 1));
}

TEST(SpreadPoints, TakesEachOnceAndNoMoreThanThereAre) {
  const std::vector<TermPosition> positions = {{1, 1, 1}, {1, 1, 1}};
  EXPECT_THAT(SpreadPoints(positions, {0, 0, 0}, 5), ElementsAre(0, 1));
  EXPECT_THAT(SpreadPoints({}, {0, 0, 0}, 5), IsEmpty());
}

}  // namespace
}  // namespace sextant
