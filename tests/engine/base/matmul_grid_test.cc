#include "engine/base/matmul_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace sextant {
namespace {

TEST(MatmulGrid, PointsAreListedOnceAndApartFromChecks) {
  std::set<std::tuple<int64_t, int64_t, int64_t>> seen;
  const std::vector<MatmulSize> points = MatmulGridPoints();
  const std::vector<MatmulSize> checks = MatmulGridChecks();
  // 7 x 3 x 3 anchors; of 13 x 9 x 9 others, 3 x 3 x 3 are anchors.
  EXPECT_EQ(points.size(), 63u + 1053u - 27u);
  EXPECT_EQ(checks.size(), 14u * 7u * 7u);
  for (const auto& sizes : {points, checks}) {
    for (const MatmulSize& s : sizes) EXPECT_TRUE(seen.insert({s.m, s.n, s.k}).second);
  }
  EXPECT_EQ(points[0], (MatmulSize{1, 1024, 1024}));
  EXPECT_EQ(points[62], (MatmulSize{8192, 16384, 16384}));
}

TEST(MatmulGrid, AnchorsComeFirst) {
  const std::vector<MatmulSize> points = MatmulGridPoints();
  EXPECT_TRUE(std::all_of(points.begin(), points.begin() + kMatmulAnchorCount, IsMatmulAnchor));
  EXPECT_TRUE(std::none_of(points.begin() + kMatmulAnchorCount, points.end(), IsMatmulAnchor));
}

}  // namespace
}  // namespace sextant
