#include "engine/tensor/float_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/engine/tensor/float_tables.h"

namespace sextant {
namespace {

constexpr FloatLayout kBinary32 = {"binary32", 8, 23};
constexpr FloatLayout kBinary64 = {"binary64", 11, 52};
using Doubles = std::numeric_limits<double>;
using Floats = std::numeric_limits<float>;

TEST(FloatLayout, DecodesEveryCodeOfAtMost16Bits) {
  int64_t codes = 0;
  for (const SmallFloat& f : SmallFloats()) {
    const FloatLayout layout = LayoutOf(f);
    for (uint32_t code = 0; code < uint32_t{1} << layout.bits(); ++code, ++codes) {
      const double expected = ReadCode(f, code);
      const double value = DecodeFloat(layout, code);
      ASSERT_EQ(std::isnan(value), std::isnan(expected)) << f.name << " " << code;
      if (std::isnan(value)) continue;
      ASSERT_EQ(value, expected) << f.name << " " << code;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << f.name << " " << code;
    }
  }
  EXPECT_EQ(codes, 2 * 65536 + 2 * 256 + 2 * 64 + 16);
}

TEST(FloatLayout, EncodesEveryNumberAsItsCode) {
  for (const SmallFloat& f : SmallFloats()) {
    const FloatLayout layout = LayoutOf(f);
    int64_t nan_codes = 0;
    for (uint32_t code = 0; code < uint32_t{1} << layout.bits(); ++code) {
      const double value = ReadCode(f, code);
      if (std::isnan(value)) {
        ++nan_codes;
        ASSERT_TRUE(std::isnan(ReadCode(f, *EncodeFloat(layout, value)))) << f.name;
      } else {
        ASSERT_EQ(EncodeFloat(layout, value), code) << f.name;
      }
    }
    EXPECT_EQ(NanCodeCount(layout), nan_codes) << f.name;
  }
}

TEST(FloatLayout, EncodesNothingBetweenItsNumbers) {
  for (const SmallFloat& f : SmallFloats()) {
    const std::vector<double> all = FiniteMagnitudes(f);
    for (size_t i = 0; i + 1 < all.size(); ++i) {
      ASSERT_FALSE(EncodeFloat(LayoutOf(f), (all[i] + all[i + 1]) / 2)) << f.name << " " << i;
      ASSERT_FALSE(EncodeFloat(LayoutOf(f), std::nextafter(all[i + 1], 0))) << f.name << " " << i;
    }
    EXPECT_FALSE(EncodeFloat(LayoutOf(f), BeyondLargest(f))) << f.name;
    EXPECT_FALSE(EncodeFloat(LayoutOf(f), -1e300)) << f.name;
    EXPECT_FALSE(EncodeFloat(LayoutOf(f), Doubles::denorm_min())) << f.name;
  }
}

TEST(FloatLayout, HasTheRangeThatItsCodesHave) {
  for (const SmallFloat& f : SmallFloats()) {
    const FloatLayout layout = LayoutOf(f);
    const std::vector<double> all = FiniteMagnitudes(f);
    const size_t first_normal = size_t{1} << f.fraction_bits;
    EXPECT_EQ(layout.bias(), f.bias) << f.name;
    EXPECT_EQ(LargestFinite(layout), all.back()) << f.name;
    EXPECT_EQ(SmallestSubnormal(layout), all[1]) << f.name;
    EXPECT_EQ(SmallestNormal(layout), all[first_normal]) << f.name;
    const auto one = std::find(all.begin(), all.end(), 1.0);
    ASSERT_NE(one, all.end()) << f.name;
    EXPECT_EQ(Epsilon(layout), *(one + 1) - 1) << f.name;
    EXPECT_EQ(layout.largest_exponent(), std::ilogb(all.back())) << f.name;
  }
}

// The compiler's own float and double are the oracle.
TEST(FloatLayout, OfBinary32And64IsTheMachines) {
  EXPECT_EQ(LargestFinite(kBinary32), Floats::max());
  EXPECT_EQ(SmallestNormal(kBinary32), Floats::min());
  EXPECT_EQ(SmallestSubnormal(kBinary32), Floats::denorm_min());
  EXPECT_EQ(Epsilon(kBinary32), Floats::epsilon());
  EXPECT_EQ(NanCodeCount(kBinary32), (1 << 24) - 2);
  EXPECT_EQ(LargestFinite(kBinary64), Doubles::max());
  EXPECT_EQ(SmallestNormal(kBinary64), Doubles::min());
  EXPECT_EQ(SmallestSubnormal(kBinary64), Doubles::denorm_min());
  EXPECT_EQ(Epsilon(kBinary64), Doubles::epsilon());
  EXPECT_EQ(NanCodeCount(kBinary64), (int64_t{1} << 53) - 2);
}

TEST(FloatLayout, ReadsAndWritesTheCodesOfTheMachinesFloats) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto code = static_cast<uint32_t>(random());
    const float value = std::bit_cast<float>(code);
    const double decoded = DecodeFloat(kBinary32, code);
    ASSERT_EQ(std::isnan(decoded), std::isnan(value)) << code;
    if (std::isnan(value)) continue;
    ASSERT_EQ(decoded, value) << code;
    ASSERT_EQ(EncodeFloat(kBinary32, value), code);
  }
}

TEST(FloatLayout, EncodesNanAsTheQuietOneOrNotAtAll) {
  const double nan = Doubles::quiet_NaN();
  EXPECT_EQ(EncodeFloat(kBinary32, nan), 0x7fc00000u);
  EXPECT_EQ(EncodeFloat({"binary16", 5, 10}, nan), 0x7e00u);
  EXPECT_EQ(EncodeFloat({"e4m3", 4, 3, SpecialValues::kNanOnly}, nan), 0x7fu);
  EXPECT_EQ(EncodeFloat({"e2m1", 2, 1, SpecialValues::kNone}, nan), absl::nullopt);
  EXPECT_EQ(EncodeFloat({"e4m3", 4, 3, SpecialValues::kNanOnly}, Doubles::infinity()),
            absl::nullopt);
}

}  // namespace
}  // namespace sextant
