#include "engine/operation/initialization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/operation/operation.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

TEST(Initialization, OutputsOfUnitWeightsGrowWithTheRootOfFanIn) {
  const auto init = InitializationOf(10'000);
  ASSERT_THAT(init, IsOk());
  EXPECT_DOUBLE_EQ(init->output_deviation_of_unit_weights, 100);
  EXPECT_DOUBLE_EQ(init->scaled_weight_deviation, 0.01);
  EXPECT_DOUBLE_EQ(init->output_deviation_of_scaled_weights, 1);
}

// The variance of a normal number within +-t, by Simpson's rule over its density.
double IntegratedVariance(double t) {
  constexpr int kSlices = 20'000;
  double mass = 0;
  double square = 0;
  for (int i = 0; i <= kSlices; ++i) {
    const double x = -t + 2 * t * i / kSlices;
    const double weight = i == 0 || i == kSlices ? 1 : (i % 2 == 1 ? 4 : 2);
    const double density = weight * std::exp(-x * x / 2);
    mass += density;
    square += density * x * x;
  }
  return square / mass;
}

TEST(Initialization, TruncationIsTheIntegralOfWhatIsLeft) {
  for (const double t : {0.1, 0.5, 1.0, 2.0, 3.0, 5.0}) {
    const auto init = InitializationOf(64, t);
    ASSERT_THAT(init, IsOk());
    EXPECT_NEAR(init->output_deviation_of_truncated_weights, std::sqrt(IntegratedVariance(t)),
                1e-10)
        << t;
  }
  EXPECT_EQ(InitializationOf(64, 100)->output_deviation_of_truncated_weights, 1);
}

TEST(Initialization, RefusesWhatIsNone) {
  for (const int64_t fan_in : {int64_t{0}, int64_t{-1}, kMaxDimension + 1}) {
    EXPECT_THAT(InitializationOf(fan_in), NamesFields(ElementsAre("fan_in")));
  }
  for (const double t :
       {0.0, -3.0, 0.05, 101.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(InitializationOf(8, t), NamesFields(ElementsAre("truncation")));
  }
}

}  // namespace
}  // namespace sextant
