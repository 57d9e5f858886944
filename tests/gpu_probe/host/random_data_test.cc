#include "gpu_probe/host/random_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace sextant::probe {
namespace {

TEST(RandomBits, AreThoseOfSplitMix64) {
  // The first outputs of the published generator with seed 0.
  EXPECT_EQ(RandomBits(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(RandomBits(1), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(RandomBits(2), 0x06C45D188009454Fu);
}

TEST(NormalNumbers, HaveMeanZeroVarianceOneAndNormalTails) {
  constexpr int64_t kCount = 200'001;  // odd: the last pair is cut
  const std::vector<float> numbers = NormalNumbers(/*first=*/5, kCount);
  ASSERT_EQ(numbers.size(), static_cast<size_t>(kCount));
  double sum = 0;
  double squares = 0;
  int64_t outside_two = 0;
  for (const float x : numbers) {
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += double{x} * x;
    outside_two += std::abs(x) > 2 ? 1 : 0;
  }
  const double n = static_cast<double>(kCount);
  EXPECT_NEAR(sum / n, 0, 0.01);  // five standard deviations are 0.011
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(static_cast<double>(outside_two) / n, 0.0455, 0.003);
}

TEST(NormalNumbers, DependOnTheirPlaceAlone) {
  const std::vector<float> all = NormalNumbers(/*first=*/0, 100);
  EXPECT_EQ(std::vector<float>(all.begin() + 40, all.end()), NormalNumbers(/*first=*/20, 60));
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  const struct {
    float value;
    uint16_t bits;
  } cases[] = {
      {0, 0x0000},           {1, 0x3F80},
      {-2, 0xC000},          {0x1.01p0F, 0x3F80},  // half way, down to even
      {0x1.03p0F, 0x3F82},                         // half way, up to even
      {0x1.0101p0F, 0x3F81}, {0x1.FFp0F, 0x4000},  // into the next power
  };
  for (const auto& c : cases) EXPECT_EQ(ToBf16(c.value), c.bits) << c.value;
  for (const float x : NormalNumbers(0, 1000)) {
    EXPECT_LE(std::abs(FromBf16(ToBf16(x)) - x), std::abs(x) * 0x1p-8F);
  }
}

TEST(RepeatingPattern, CopiesAcrossItsEnd) {
  std::vector<int> elements(static_cast<size_t>(kPatternCount));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<int>(i);
  const RepeatingPattern<int> pattern(elements);
  std::vector<int> out(5);
  pattern.Copy(3 * kPatternCount - 2, 5, out.data());
  EXPECT_EQ(out, (std::vector<int>{kPatternCount - 2, kPatternCount - 1, 0, 1, 2}));
  pattern.Copy(0, 0, nullptr);
}

}  // namespace
}  // namespace sextant::probe
