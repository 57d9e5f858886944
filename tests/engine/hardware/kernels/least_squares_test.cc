#include "engine/hardware/kernels/least_squares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

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
