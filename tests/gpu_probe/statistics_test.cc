#include "gpu_probe/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace sextant::probe {
namespace {

using ::testing::DoubleNear;

std::vector<double> Constant(size_t count) { return std::vector<double>(count, 2e-3); }

TEST(QuantileTest, IsLinearBetweenOrderStatistics) {
  const std::vector<double> values = {1, 2, 3, 4, 10};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.1), 1.4);  // position 0.4
  EXPECT_DOUBLE_EQ(Quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.9), 7.6);  // position 3.6: 4 + 0.6 x 6
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 10);
  EXPECT_DOUBLE_EQ(Quantile({5}, 0.9), 5);
}

TEST(MedianTest, OfUnsortedValues) {
  EXPECT_DOUBLE_EQ(Median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(Median({4, 1, 2, 3}), 2.5);
}

struct RankCase {
  size_t count;
  int rank;  // 0: no interval; j: from the j-th smallest to the j-th largest
};

// The ranks that published tables of the median's 95 % interval have: n = 6 to 8 [1, n], 9 to 11
// [2, n-1], 12 to 14 [3, n-2], 15 and 16 [4, n-3], 17 [5, 13]; below 6 none reaches 95 %.
TEST(MedianIntervalTest, HasThePublishedRanks) {
  for (const RankCase& c : {RankCase{1, 0},
                            {5, 0},
                            {6, 1},
                            {8, 1},
                            {9, 2},
                            {10, 2},
                            {11, 2},
                            {12, 3},
                            {14, 3},
                            {15, 4},
                            {16, 4},
                            {17, 5}}) {
    std::vector<double> ranks;
    for (size_t i = 1; i <= c.count; ++i) ranks.push_back(static_cast<double>(i));
    const auto interval = MedianInterval(ranks);
    ASSERT_EQ(interval.has_value(), c.rank > 0) << c.count;
    if (!interval.has_value()) continue;
    EXPECT_EQ(interval->low, c.rank) << c.count;
    EXPECT_EQ(interval->high, static_cast<double>(c.count) + 1 - c.rank) << c.count;
  }
}

// The interval does what it says: in 20,000 series of skewed noise it holds the true median in
// at least 95 %, less three standard errors of that count.
TEST(MedianIntervalTest, HoldsTheTrueMedian) {
  std::mt19937_64 random(7);
  constexpr int kSeries = 20000;
  for (const size_t count : {8, 9, 12}) {
    int held = 0;
    for (int s = 0; s < kSeries; ++s) {
      std::vector<double> samples;
      for (size_t i = 0; i < count; ++i) {
        const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
        samples.push_back(std::exp(8 * uniform));  // median exp(4)
      }
      std::sort(samples.begin(), samples.end());
      const auto interval = MedianInterval(samples);
      held += interval->low <= std::exp(4.0) && std::exp(4.0) <= interval->high;
    }
    EXPECT_GE(held, kSeries * 0.95 - 3 * std::sqrt(kSeries * 0.95 * 0.05)) << count;
  }
}

TEST(SummariseTest, ByHand) {
  // Sorted 1 2 3 4 5 9: median 3.5; deviations 0.5 0.5 1.5 1.5 2.5 5.5, their median 1.5.
  const v1::TimeStatistics time = Summarise({9, 1, 3, 2, 5, 4}, 12);
  EXPECT_DOUBLE_EQ(time.median_seconds(), 3.5);
  EXPECT_THAT(time.relative_spread(), DoubleNear(1.4826 * 1.5 / 3.5, 1e-7));
  EXPECT_DOUBLE_EQ(time.p10_seconds(), 1.5);  // position 0.5
  EXPECT_DOUBLE_EQ(time.p90_seconds(), 7);    // position 4.5
  EXPECT_EQ(time.sample_count(), 6);
  EXPECT_EQ(time.repetition_count(), 12);
  EXPECT_FALSE(time.stable());
}

TEST(SummariseTest, OfOneSample) {
  const v1::TimeStatistics time = Summarise({0.25}, 1);
  EXPECT_DOUBLE_EQ(time.median_seconds(), 0.25);
  EXPECT_DOUBLE_EQ(time.relative_spread(), 0);
  EXPECT_DOUBLE_EQ(time.p10_seconds(), 0.25);
  EXPECT_DOUBLE_EQ(time.p90_seconds(), 0.25);
  EXPECT_FALSE(time.stable()) << "one sample says nothing of the next";
}

struct StableCase {
  const char* name;
  std::vector<double> samples;
  bool stable;
  bool narrow;
};

class StableTest : public ::testing::TestWithParam<StableCase> {};

TEST_P(StableTest, TrustsOnlyWhatAgrees) {
  EXPECT_EQ(Summarise(GetParam().samples, 1).stable(), GetParam().stable);
  EXPECT_EQ(IsNarrow(GetParam().samples), GetParam().narrow);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, StableTest,
    ::testing::Values(
        StableCase{"Constant", Constant(12), true, true},
        StableCase{"ConstantButFewForAnInterval", Constant(5), false, false},
        StableCase{"ConstantAndJustEnough", Constant(6), true, false},
        StableCase{"ConstantAndEnoughToStop", Constant(8), true, true},
        // All within half a percent.
        StableCase{"QuietNoise",
                   {1.000, 1.003, 0.998, 1.001, 1.002, 0.999, 1.004, 1.000, 1.001},
                   true,
                   true},
        // Within 3 %: the interval of 12 samples is from the third to the tenth, 2 % wide.
        StableCase{"OrdinaryNoise",
                   {1.00, 1.02, 1.01, 1.03, 1.00, 1.01, 1.02, 1.00, 1.01, 1.03, 1.02, 1.01},
                   true,
                   false},
        StableCase{"BimodalHalfAndHalf",
                   {1.0, 1.3, 1.0, 1.3, 1.0, 1.3, 1.0, 1.3, 1.0, 1.3, 1.0, 1.3},
                   false,
                   false},
        // Nearer together than the percentiles' limit: the interval spans both.
        StableCase{"BimodalAndClose",
                   {1.0, 1.08, 1.0, 1.08, 1.0, 1.08, 1.0, 1.08, 1.0, 1.08, 1.0, 1.08},
                   false,
                   false},
        // The interval sees one mode only; the ninetieth percentile sees the other.
        StableCase{"BimodalOneInSix",
                   {1.0, 1.0, 1.6, 1.0, 1.0, 1.0, 1.0, 1.6, 1.0, 1.0, 1.0, 1.0},
                   false,
                   true},
        StableCase{"DriftingByAFifth",
                   {1.00, 1.02, 1.04, 1.06, 1.08, 1.10, 1.12, 1.14, 1.16, 1.18, 1.20, 1.22},
                   false,
                   false},
        // Too little for the interval's limit, which is 0.05: the halves tell.
        StableCase{
            "DriftingSlowly",
            {1.000, 1.006, 1.012, 1.018, 1.024, 1.030, 1.036, 1.042, 1.048, 1.054, 1.060, 1.066},
            false,
            false},
        StableCase{"OneStepHalfWay",
                   {1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.04, 1.04, 1.04, 1.04, 1.04, 1.04},
                   false,
                   false},
        // Quantiles of a Cauchy distribution around 1, shuffled.
        StableCase{"HeavyTailed",
                   {1.04, 0.95, 1.40, 1.01, 0.88, 1.00, 1.12, 0.60, 0.99, 1.07, 3.0, 0.97},
                   false,
                   false},
        // One sample in twelve was hit by something: the median does not move.
        StableCase{"OneHugeOutlier",
                   {1.0, 1.0, 1.0, 1.0, 100.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0},
                   true,
                   true},
        // One outlier of eight samples is more than a tenth.
        StableCase{
            "OneHugeOutlierOfFew", {1.0, 1.0, 1.0, 1.0, 100.0, 1.0, 1.0, 1.0}, false, false}),
    [](const auto& test) { return std::string(test.param.name); });

// Noise around 1, `deviation` wide, and `slow_share` of the samples `slow_by` slower.
struct Noise {
  double deviation = 0;
  double slow_share = 0;
  double slow_by = 0;
};

struct Trust {
  double stable_share = 0;
  double wrong_share = 0;  // stable, and the median more than 2.5 % off
};

Trust TrustIn(const Noise& noise) {
  std::mt19937_64 random(5);
  const auto uniform = [&random] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  constexpr int kSeries = 20000;
  Trust trust;
  for (int s = 0; s < kSeries; ++s) {
    std::vector<double> samples;
    for (size_t i = 0; i < kMaxSampleCount; ++i) {
      const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
      samples.push_back(1 + noise.deviation * normal +
                        (uniform() < noise.slow_share ? noise.slow_by : 0));
    }
    const v1::TimeStatistics time = Summarise(samples, 1);
    if (!time.stable()) continue;
    trust.stable_share += 1.0 / kSeries;
    if (std::abs(time.median_seconds() - 1) > 0.025) trust.wrong_share += 1.0 / kSeries;
  }
  return trust;
}

// The rates of trust that docs/probe.md states for the rule, for twelve samples.
TEST(StableRuleTest, TrustsQuietMachinesAndNotNoisyOnes) {
  EXPECT_GE(TrustIn({.deviation = 0.01}).stable_share, 0.99);
  EXPECT_NEAR(TrustIn({.deviation = 0.02}).stable_share, 0.95, 0.01);
  EXPECT_NEAR(TrustIn({.deviation = 0.03}).stable_share, 0.56, 0.02);
  EXPECT_NEAR(TrustIn({.deviation = 0.05}).stable_share, 0.10, 0.01);
  EXPECT_LE(TrustIn({.deviation = 0.10}).stable_share, 0.01);
  for (const double deviation : {0.01, 0.02, 0.03, 0.05, 0.10}) {
    EXPECT_LE(TrustIn({.deviation = deviation}).wrong_share, 0.012) << deviation;
  }
  for (const double slow_by : {0.1, 0.2}) {
    const Noise bimodal = {.deviation = 0.005, .slow_share = 0.5, .slow_by = slow_by};
    EXPECT_NEAR(TrustIn(bimodal).stable_share, 0.04, 0.01) << slow_by;
  }
}

// A double with at most 24 significant bits needs three bytes less of its mantissa.
TEST(SummariseTest, KeepsNoDigitsThatAreNoise) {
  const v1::TimeStatistics time = Summarise({1.0 / 3, 2.0 / 3, 1.0 / 7, 1.0 / 9}, 1);
  EXPECT_NEAR(time.median_seconds(), (1.0 / 3 + 1.0 / 7) / 2, 1e-7);
  for (const double figure :
       {time.median_seconds(), time.relative_spread(), time.p10_seconds(), time.p90_seconds()}) {
    int exponent = 0;
    const double mantissa = std::ldexp(std::frexp(figure, &exponent), 24);
    EXPECT_EQ(mantissa, std::floor(mantissa)) << figure;
    EXPECT_GT(figure, 0);
  }
}

TEST(SummariseTest, AnOutlierMovesNeitherMedianNorSpread) {
  std::vector<double> samples = Constant(12);
  samples[3] = 1e6;
  const v1::TimeStatistics time = Summarise(samples, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(time.median_seconds()), 2e-3F);
  EXPECT_DOUBLE_EQ(time.relative_spread(), 0);
  EXPECT_EQ(time.sample_count(), 12) << "it is counted all the same";
}

}  // namespace
}  // namespace sextant::probe
