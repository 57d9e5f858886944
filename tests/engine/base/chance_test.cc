#include "engine/base/chance.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

TEST(Chance, OfALimitByHand) {
  EXPECT_EQ(ChanceAtMost({1, 2, 4}, 2), 0.5);
  EXPECT_NEAR(ChanceAtMost({1, 2, 4}, 4), 0.9, 1e-12);
  EXPECT_NEAR(ChanceAtMost({1, 2, 4}, 1), 0.1, 1e-12);
  EXPECT_EQ(ChanceAtMost({2, 2, 2}, 2), 1);
  EXPECT_EQ(ChanceAtMost({2, 2, 2}, 1.9), 0);
}

}  // namespace
}  // namespace sextant
