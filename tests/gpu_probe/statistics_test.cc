#include "gpu_probe/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/support/csv.h"
#include "tests/support/source_folder.h"

namespace sextant::probe {
namespace {

using ::testing::DoubleNear;

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

TEST(WidenToWindowsTest, TheLargerSpreadCounts) {
  v1::TimeStatistics time = Summarise({10, 10, 11, 10, 16, 16, 16, 15}, 1);
  const double within = time.relative_spread();
  time.set_relative_spread(0.02);
  WidenToWindows({10, 16}, &time);
  EXPECT_THAT(time.relative_spread(), DoubleNear(6 / time.median_seconds(), 1e-7));
  time.set_relative_spread(within);
  WidenToWindows({13, 13.01}, &time);
  EXPECT_EQ(time.relative_spread(), within);
  WidenToWindows({}, &time);
  EXPECT_EQ(time.relative_spread(), within);
}

TEST(StableTest, TrustsOnlyWhatAgrees) {
  const auto rows = ReadCsv(SourceFolder() + "/tests/gpu_probe/stable_samples.csv").value();
  for (const CsvRow& row : rows) {
    SCOPED_TRACE(row.at("name") + ": " + row.at("why"));
    std::vector<double> samples;
    for (const absl::string_view sample : absl::StrSplit(row.at("samples"), ' ')) {
      ASSERT_TRUE(absl::SimpleAtod(sample, &samples.emplace_back()));
    }
    EXPECT_EQ(Summarise(samples, 1).stable(), row.at("stable") == "yes");
    EXPECT_EQ(IsNarrow(samples), row.at("narrow") == "yes");
  }
}

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
  std::vector<double> samples(12, 2e-3);
  samples[3] = 1e6;
  const v1::TimeStatistics time = Summarise(samples, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(time.median_seconds()), 2e-3F);
  EXPECT_DOUBLE_EQ(time.relative_spread(), 0);
  EXPECT_EQ(time.sample_count(), 12) << "it is counted all the same";
}

}  // namespace
}  // namespace sextant::probe
