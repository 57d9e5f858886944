// Least squares, nonnegative ones, and sums of terms that they are fitted to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "engine/hardware/kernels/matmul_efficiency.h"
#include "engine/hardware/kernels/term_fit.h"

namespace sextant {
namespace {

// Times of 1 + amount, at positions log2 of the amount; every third is 8 % slower.
std::vector<TermPoint> LinePoints() {
  std::vector<TermPoint> out;
  for (int i = 0; i < 20; ++i) {
    const double amount = std::exp2(0.5 * i);
    out.push_back({.shape = {.terms = {1, amount}, .position = {0.5 * i, 0, 0}},
                   .seconds = (1 + amount) * (i % 3 == 0 ? 1.08 : 1)});
  }
  return out;
}

TEST(TermFit, PredictsBetweenItsPoints) {
  const TermFit fit(LinePoints());
  for (const double amount : {3.3, 17.0, 300.0}) {
    const TermShape shape = {.terms = {1, amount}, .position = {std::log2(amount), 0, 0}};
    EXPECT_NEAR(fit.Seconds(shape) / (1 + amount), 1, 0.05) << amount;
  }
}

// Far from every point the sum of costs alone stands.
TEST(TermFit, CorrectsOnlyNearItsPoints) {
  const TermFit fit(LinePoints());
  const TermArray terms = {1, 64};
  const double sum = fit.costs()[0] + 64 * fit.costs()[1];
  EXPECT_DOUBLE_EQ(fit.Seconds({.terms = terms, .position = {6, 100, 0}}), sum);
  const double corrected = fit.Seconds({.terms = terms, .position = {6, 0, 0}});
  EXPECT_NE(corrected, sum);
  EXPECT_LT(std::abs(std::log(corrected / sum)), 0.15);
}

TEST(TermFit, IsSmoothAcrossItsPoints) {
  const TermFit fit(LinePoints());
  double last = fit.Seconds({.terms = {1, 10}, .position = {-3, 0, 0}});
  for (double position = -3; position < 13; position += 0.001) {
    const double here = fit.Seconds({.terms = {1, 10}, .position = {position, 0, 0}});
    EXPECT_NEAR(here / last, 1, 0.001) << position;
    last = here;
  }
}

TEST(TermFit, TakesNoTimeBelowANanosecond) {
  EXPECT_EQ(TermFit(LinePoints()).Seconds({.position = {-100, 0, 0}}), 1e-9);
}

// However a point's own time is changed, what the others predict for it stays.
TEST(HeldOutRatios, DontKnowTheirOwnPoint) {
  std::vector<TermPoint> points = LinePoints();
  const std::vector<double> ratios = HeldOutRatios(points);
  for (size_t i = 0; i < points.size(); ++i) {
    std::vector<TermPoint> changed = points;
    changed[i].seconds *= 1.5;
    EXPECT_NEAR(HeldOutRatios(changed)[i], 1.5 * ratios[i], 1e-9) << i;
  }
}

TEST(MeanError, CountsAWildRatioAsTwentyPerCent) {
  EXPECT_DOUBLE_EQ(MeanError({std::exp(0.1), std::exp(-0.1), 50}), (0.1 + 0.1 + 0.2) / 3);
}

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

TEST(LeastSquares, ALineThroughThreePoints) {
  // y = a + b x through (0, 1), (1, 3), (2, 4): the mean is 8/3 at x = 1, the slope 3/2.
  LeastSquares equations({.band = 2, .reach = 1});
  const double x[] = {0, 1, 2};
  const double y[] = {1, 3, 4};
  for (int i = 0; i < 3; ++i) {
    const LinearTerm terms[] = {{0, 1}, {1, x[i]}};
    equations.Add(terms, y[i], 1);
  }
  const std::vector<double> solution = equations.Solve();
  EXPECT_NEAR(solution[0], 8.0 / 3 - 1.5, 1e-14);
  EXPECT_NEAR(solution[1], 1.5, 1e-14);
}

TEST(LeastSquares, WeightsCountAsRepeats) {
  // 1 once and 4 twice: 3.
  LeastSquares equations({.band = 1});
  const LinearTerm self[] = {{0, 1}};
  equations.Add(self, 1, 1);
  equations.Add(self, 4, 2);
  EXPECT_NEAR(equations.Solve()[0], 3, 1e-15);
}

// Gauss with pivots, of the whole matrix.
std::vector<double> Gauss(std::vector<std::vector<double>> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i; r < n; ++r) pivot = std::abs(a[r][i]) > std::abs(a[pivot][i]) ? r : pivot;
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (size_t c = i; c < n; ++c) a[r][c] -= factor * a[i][c];
      b[r] -= factor * b[i];
    }
  }
  for (size_t i = 0; i < n; ++i) b[i] /= a[i][i];
  return b;
}

TEST(LeastSquares, BandAndBorderLoseNothing) {
  // A band of width 2, and two last unknowns that meet all.
  constexpr size_t kCount = 13;
  LeastSquares equations({.band = kCount - 2, .reach = 2, .border = 2});
  std::vector<std::vector<double>> normal(kCount, std::vector<double>(kCount, 0.0));
  std::vector<double> right(kCount, 0.0);
  const auto add = [&](const std::vector<LinearTerm>& terms, double target, double weight) {
    equations.Add(terms, target, weight);
    for (const LinearTerm& x : terms) {
      right[x.unknown] += weight * x.coefficient * target;
      for (const LinearTerm& y : terms) {
        normal[x.unknown][y.unknown] += weight * x.coefficient * y.coefficient;
      }
    }
  };
  for (size_t i = 0; i + 4 < kCount; ++i) {
    const double at = static_cast<double>(i);
    add({{i, 1 + at}, {i + 1, -2}, {i + 2, 0.5 * at}, {kCount - 2, 0.3}, {kCount - 1, 1}}, 3 - at,
        1 + 0.1 * at);
  }
  for (size_t i = 0; i < kCount; ++i) add({{i, 1}}, 0, 0.5);
  const std::vector<double> expected = Gauss(normal, right);
  const std::vector<double> solution = equations.Solve();
  for (size_t i = 0; i < kCount; ++i) EXPECT_NEAR(solution[i], expected[i], 1e-12) << i;
}

}  // namespace
}  // namespace sextant
