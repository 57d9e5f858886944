#include "tests/validation/step_score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/validation/step_sweeps.h"
#include "tests/validation/step_transfer.h"

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

// Two frameworks with errors of e^0.2, of two requests each, of which one repeats with a scatter of
// e^0.1 either way.
TEST(StepSweepsTest, SpreadOfErrorsHasThreeParts) {
  std::vector<StepCase> cases = {Case("a", std::exp(0.1), 1), Case("a", std::exp(-0.1), 1),
                                 Case("b", 2 * std::exp(0.2), 2), Case("b", 3 * std::exp(0.2), 3)};
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].row.framework = cases[i].row.family;
    cases[i].row.requests.emplace_back().mutable_cluster()->set_device_count(
        static_cast<int64_t>(std::max<size_t>(i, 1)));
  }
  const std::vector<StepSweep> sweeps = SweepsOf(cases);
  ASSERT_EQ(sweeps.size(), 1u);
  // Errors -0.1, 0.1, -0.2, -0.2 about -0.1: 0, 0.04, 0.01 and 0.01.
  EXPECT_NEAR(sweeps[0].error_spread, std::sqrt(0.06 / 4), 1e-12);
  EXPECT_NEAR(sweeps[0].noise, std::sqrt(0.02 / 4), 1e-12);
  EXPECT_NEAR(sweeps[0].framework_spread, std::sqrt(0.04 / 4), 1e-12);
  EXPECT_NEAR(sweeps[0].rest_spread, 0, 1e-8);
}

// Times far apart beside the noise of repeats are put in order, those within it are not.
TEST(StepSweepsTest, NoiseLimitsTheOrder) {
  std::vector<StepCase> far;
  std::vector<StepCase> near;
  for (int i = 0; i < 8; ++i) {
    far.push_back(Case("a", std::pow(1.5, i), 1));
    near.push_back(Case("a", 1 + 0.01 * i, 1));
    far.back().row.id = near.back().row.id = std::string(1, static_cast<char>('a' + i));
  }
  ASSERT_EQ(SweepsOf(far).size(), 1u);
  EXPECT_NEAR(SweepsOf(far)[0].reachable, 1, 1e-12);
  ASSERT_EQ(SweepsOf(near).size(), 1u);
  EXPECT_LT(SweepsOf(near)[0].reachable, 0.9);
  EXPECT_GT(SweepsOf(near)[0].reachable, 0.4);
}

TEST(StepPredictionTest, PositionInItsInterval) {
  const StepPrediction one = {.expected = 2, .low = 1, .high = 8, .centre = 2};
  EXPECT_NEAR(one.PositionOf(2), 0, 1e-12);
  EXPECT_NEAR(one.PositionOf(1), -1, 1e-12);
  EXPECT_NEAR(one.PositionOf(4), 0.5, 1e-12);
  EXPECT_NEAR(one.PositionOf(0.5), -2, 1e-12);
}

TEST(StepTransferTest, OneMeasuredStepOfTheNearestLayout) {
  std::vector<StepCase> cases = {Case("a", 2.0, 1.0), Case("a", 3.0, 2.0), Case("a", 8.0, 2.0)};
  cases[1].row.layout.tensor = 2;
  cases[2].row.layout.tensor = 8;
  const std::map<const StepCase*, StepPrediction> generic = {{&cases[0], {.expected = 1.0}},
                                                             {&cases[1], {.expected = 2.0}},
                                                             {&cases[2], {.expected = 2.0}}};
  const auto near = NearStepsOf(cases, generic);
  // One doubling away, and two: 15 and 14 sixteenths of the error.
  EXPECT_NEAR(near.at(&cases[0]), 1.0 * std::pow(3.0 / 2.0, 15. / 16), 1e-12);
  EXPECT_NEAR(near.at(&cases[1]), 2.0 * std::pow(2.0 / 1.0, 15. / 16), 1e-12);
  EXPECT_NEAR(near.at(&cases[2]), 2.0 * std::pow(3.0 / 2.0, 14. / 16), 1e-12);
}

}  // namespace
}  // namespace sextant
