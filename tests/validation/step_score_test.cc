#include "tests/validation/step_score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/validation/step_sweeps.h"

namespace sextant {
namespace {

StepCase Case(const std::string& family, double measured, double predicted) {
  StepCase out;
  out.row.family = family;
  out.row.sweep = "one";
  out.row.measured = measured;
  out.predicted.expected = predicted;
  out.baselines.ideal = 1;
  return out;
}

absl::optional<double> Error(const StepCase& each) { return each.Error(); }

TEST(StepScoreTest, SizesBiasAndShares) {
  const std::vector<StepCase> cases = {Case("a", 1, 1.05), Case("a", 1, 0.85), Case("b", 1, 1.3)};
  const StepGroup all = Where(cases, [](const StepCase&) { return true; });
  const StepScore score = ScoreOf(all, Error);
  EXPECT_EQ(score.count, 3);
  EXPECT_NEAR(score.median, 0.15, 1e-12);
  EXPECT_NEAR(score.p90, 0.3, 1e-12);
  EXPECT_NEAR(score.bias, 0.05, 1e-12);
  EXPECT_NEAR(score.within_10, 1.0 / 3, 1e-12);
  EXPECT_NEAR(score.within_20, 2.0 / 3, 1e-12);
  // Of two families, one at 0.10 (the mean of 0.05 and 0.15) and one at 0.30.
  EXPECT_NEAR(FamilyScoreOf(all, Error).median, 0.2, 1e-12);
}

TEST(StepScoreTest, FamiliesWeighByTheRootOfTheirRows) {
  // Four rows of a family weigh 1/2 each, one of another 1: the 10th percentile of 3 is at 0.3.
  const std::vector<StepCase> cases = {Case("a", 1, 1), Case("a", 1, 1), Case("a", 1, 1),
                                       Case("a", 2, 1), Case("b", 1, 2)};
  const StepBand band = BandOf(Where(cases, [](const StepCase&) { return true; }), Error);
  EXPECT_EQ(band.families, 2);
  EXPECT_NEAR(band.low, -std::log(2), 1e-12);
  EXPECT_NEAR(band.high, std::log(2), 1e-12);
}

TEST(StepScoreTest, RanksWithTies) {
  EXPECT_NEAR(SpearmanOf({1, 2, 3}, {10, 20, 30}), 1, 1e-12);
  EXPECT_NEAR(SpearmanOf({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  // Ranks 0, 1, 2 and 0.5, 0.5, 2: 1.5 / sqrt(2 x 1.5).
  EXPECT_NEAR(SpearmanOf({1, 2, 3}, {5, 5, 6}), 1.5 / std::sqrt(3.0), 1e-12);
}

TEST(StepSweepsTest, CostOfTheLayoutRankedFirst) {
  const std::vector<StepCase> cases = {Case("a", 1.0, 2.0), Case("a", 1.2, 1.0),
                                       Case("a", 1.4, 1.0), Case("a", 2.0, 3.0)};
  const std::vector<StepSweep> sweeps = SweepsOf(cases);
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_NEAR(sweeps[0].spread, 1.0, 1e-12);
  EXPECT_NEAR(sweeps[0].cost, 0.3, 1e-12);  // 1.3 on average, over 1.0
}

TEST(StepSweepsTest, OneMeasuredStepOfTheNearestLayout) {
  std::vector<StepCase> cases = {Case("a", 2.0, 1.0), Case("a", 3.0, 2.0), Case("a", 8.0, 2.0)};
  cases[1].row.layout.tensor = 2;
  cases[2].row.layout.tensor = 8;
  const std::map<const StepCase*, StepPrediction> generic = {{&cases[0], {.expected = 1.0}},
                                                             {&cases[1], {.expected = 2.0}},
                                                             {&cases[2], {.expected = 2.0}}};
  const auto near = NearStepsOf(cases, generic);
  EXPECT_NEAR(near.at(&cases[0]), 1.5, 1e-12);  // 1.0 x 3.0 / 2.0
  EXPECT_NEAR(near.at(&cases[1]), 4.0, 1e-12);  // 2.0 x 2.0 / 1.0
  EXPECT_NEAR(near.at(&cases[2]), 3.0, 1e-12);  // 2.0 x 3.0 / 2.0
}

}  // namespace
}  // namespace sextant
