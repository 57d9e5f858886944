#include "engine/hardware/kernels/prediction_error.h"

#include <gtest/gtest.h>

#include <vector>

namespace sextant {
namespace {

// Eleven ratios, so that quantiles are ranks: 0.80, 0.84, ... 1.20.
TEST(ErrorOf, HasTheQuantilesOfTheRatios) {
  std::vector<double> ratios;
  for (int i = 10; i >= 0; --i) ratios.push_back(0.8 + 0.04 * i);
  const PredictionError error = ErrorOf(ratios);
  EXPECT_DOUBLE_EQ(error.p10, 0.84);
  EXPECT_DOUBLE_EQ(error.median, 1.0);
  EXPECT_DOUBLE_EQ(error.p90, 1.16);
  EXPECT_EQ(error.shape_count, 11);
  // |1 / ratio - 1|, the largest being 0.25, then 1 / 0.84 - 1.
  EXPECT_NEAR(error.p90_absolute, 1 / 0.84 - 1, 1e-12);
}

TEST(TimeWithin, HoldsTheExpectedTime) {
  // All ratios above 1: the low end stays at the expected time.
  const KernelTime time =
      TimeWithin(2, ErrorOf({1.1, 1.1, 1.1}), {.low = 0.5, .high = 3}, KernelBasis::kOtherPass);
  EXPECT_DOUBLE_EQ(time.expected.value(), 2);
  EXPECT_DOUBLE_EQ(time.low.value(), 1);
  EXPECT_DOUBLE_EQ(time.high.value(), 6.6);
  EXPECT_EQ(time.basis, KernelBasis::kOtherPass);
}

}  // namespace
}  // namespace sextant
