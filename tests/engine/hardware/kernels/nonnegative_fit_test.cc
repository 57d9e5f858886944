#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "engine/hardware/kernels/term_fit.h"

namespace sextant {
namespace {

double SumOf(const TermArray& row, const TermArray& costs) {
  double out = 0;
  for (int i = 0; i < kMaxTerms; ++i) out += row[i] * costs[i];
  return out;
}

// Rows of times that `costs` explain: terms over time.
std::vector<TermArray> RowsMadeOf(const TermArray& costs, int count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> amount(0.1, 10);
  std::vector<TermArray> out(static_cast<size_t>(count));
  for (TermArray& row : out) {
    for (double& term : row) term = amount(random);
    const double time = SumOf(row, costs);
    for (double& term : row) term /= time;
  }
  return out;
}

TEST(NonnegativeFit, FindsTheCostsThatMadeTheTimes) {
  const TermArray made = {2e-6, 0, 3e-9, 0, 0, 5, 0, 1e-3};
  const TermArray found = NonnegativeFit(RowsMadeOf(made, 40, 1));
  for (int i = 0; i < kMaxTerms; ++i) EXPECT_NEAR(found[i], made[i], 1e-4 * made[i] + 1e-9) << i;
}

TEST(NonnegativeFit, HoldsWhatWouldBeNegativeAtZero) {
  std::vector<TermArray> rows;
  for (const double amount : {1.0, 1.1, 1.2}) rows.push_back({amount, 2 - 1.5 * (amount - 1)});
  // Against them, 1 = c0 amount + c1 (2 - 1.5 (amount - 1)) has c0 = 1.5 c1 and 3.5 c1 = 1.
  const TermArray both = NonnegativeFit(rows);
  EXPECT_NEAR(both[0], 1.5 / 3.5, 1e-4);
  EXPECT_NEAR(both[1], 1 / 3.5, 1e-4);
  // With the second term growing faster than the first, its cost would be negative.
  rows.clear();
  for (const double amount : {1.0, 1.1, 1.2}) rows.push_back({1, amount * amount});
  rows[0][0] = 1.02;
  rows[2][0] = 0.98;  // 1 falls as the second grows: only c1 > 0 corrects it
  const TermArray positive = NonnegativeFit(rows);
  EXPECT_GT(positive[1], 0);
  rows[0][0] = 0.98;
  rows[2][0] = 1.02;  // now it would have to be negative
  const TermArray held = NonnegativeFit(rows);
  EXPECT_EQ(held[1], 0);
  EXPECT_NEAR(held[0], 1, 1e-3);
}

// Karush, Kuhn and Tucker: no cost can move and lessen the weighted squares.
TEST(NonnegativeFit, IsOptimalForItsWeights) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::vector<TermArray> rows = RowsMadeOf({1, 0, 2, 0, 1, 0, 3, 1}, 30, seed);
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    for (TermArray& row : rows) {
      const double factor = std::exp(noise(random));
      for (double& term : row) term *= factor;
    }
    const TermArray costs = NonnegativeFit(rows);
    for (int i = 0; i < kMaxTerms; ++i) {
      double gradient = 0;
      double size = 0;
      for (const TermArray& row : rows) {
        const double error = 1 - SumOf(row, costs);
        gradient += row[i] * error / std::max(std::abs(error), 0.05);
        size += row[i] / 0.05;
      }
      EXPECT_GE(costs[i], 0);
      EXPECT_LT(gradient / size, 0.01) << "seed " << seed << " cost " << i << " should grow";
      if (costs[i] > 1e-6) {
        EXPECT_GT(gradient / size, -0.01) << "seed " << seed << " cost " << i;
      }
    }
  }
}

TEST(NonnegativeFit, HardlyFollowsOneWildTime) {
  const TermArray made = {2, 0, 0, 1, 0, 0, 0, 3};
  std::vector<TermArray> rows = RowsMadeOf(made, 30, 5);
  for (double& term : rows[7]) term /= 5;  // measured five times too slow
  const TermArray found = NonnegativeFit(rows);
  for (int r = 0; r < 30; ++r) {
    if (r == 7) continue;
    EXPECT_NEAR(SumOf(rows[static_cast<size_t>(r)], found), 1, 0.03) << r;
  }
}

// Two columns that say the same, and six that say nothing.
TEST(NonnegativeFit, CopesWithColumnsThatAreAlike) {
  std::vector<TermArray> rows;
  for (const double time : {1.0, 3.0, 4.0, 7.0}) {
    rows.push_back({1 / time, (time - 1) / time, 2 * (time - 1) / time});
  }
  const TermArray found = NonnegativeFit(rows);
  EXPECT_NEAR(found[0], 1, 1e-4);
  EXPECT_NEAR(found[1] + 2 * found[2], 1, 1e-4);
  for (int i = 3; i < kMaxTerms; ++i) EXPECT_EQ(found[i], 0);
}

}  // namespace
}  // namespace sextant
