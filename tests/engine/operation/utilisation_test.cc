#include "engine/operation/utilisation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AchievedTime At(double ratio) {
  return {.flops = Flops(ratio * 800),
          .time = Seconds(2),
          .peak = FlopsPerSecond(100),
          .device_count = 4};
}

TEST(Utilisation, IsReadByItsBand) {
  using R = UtilisationReading;
  const struct {
    double ratio;
    R reading;
  } cases[] = {{1.01, R::kImpossible}, {1, R::kGood},       {0.5, R::kGood},
               {0.49, R::kUsual},      {0.3, R::kUsual},    {0.29, R::kLow},
               {0.1, R::kLow},         {0.05, R::kWaiting}, {0, R::kWaiting}};
  for (const auto& c : cases) {
    const auto utilisation = UtilisationOf(At(c.ratio));
    ASSERT_THAT(utilisation, IsOk());
    EXPECT_DOUBLE_EQ(utilisation->ratio, c.ratio);
    EXPECT_EQ(utilisation->reading, c.reading) << c.ratio;
    EXPECT_FALSE(utilisation->explanation.empty());
  }
}

TEST(Utilisation, OfAFewPercentNamesTheUsualCauses) {
  const std::string text(UtilisationOf(At(0.05))->explanation);
  for (const char* cause : {"data loader", "communication", "batches", "sparsity"}) {
    EXPECT_THAT(text, HasSubstr(cause));
  }
}

TEST(Utilisation, RefusesWhatIsNoTime) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(
        UtilisationOf({.flops = Flops(-1),
                       .time = Seconds(bad),
                       .peak = FlopsPerSecond(bad),
                       .device_count = 0}),
        NamesFields(ElementsAre("flops", "seconds", "peak_flops_per_second", "device_count")));
  }
}

}  // namespace
}  // namespace sextant
