#include "engine/hardware/kernels/term_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

}  // namespace
}  // namespace sextant
