#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include "engine/tensor/number_format.h"
#include "tests/engine/tensor/float_tables.h"

namespace sextant {
namespace {

constexpr FloatLayout kBinary32 = {"binary32", 8, 23};
constexpr FloatLayout kBinary64 = {"binary64", 11, 52};
using Doubles = std::numeric_limits<double>;
using Floats = std::numeric_limits<float>;

TEST(FloatLayout, EncodesEveryNumberAsItsCode) {
  int64_t codes = 0;
  for (const SmallFloat& f : SmallFloats()) {
    const FloatLayout layout = LayoutOf(f);
    int64_t nan_codes = 0;
    for (uint32_t code = 0; code < uint32_t{1} << layout.bits(); ++code, ++codes) {
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
  EXPECT_EQ(codes, 2 * 65536 + 2 * 256 + 2 * 64 + 16);
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

TEST(FloatLayout, WritesTheCodesOfTheMachinesFloats) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto code = static_cast<uint32_t>(random());
    const float value = std::bit_cast<float>(code);
    if (std::isnan(value)) continue;
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

constexpr double kInfinite = Doubles::infinity();

// The oracle of one layout: a search over all its numbers.
class Oracle {
 public:
  explicit Oracle(const SmallFloat& f) : f_(f), layout_(LayoutOf(f)), table_(FiniteMagnitudes(f)) {
    largest_ = table_.back();
    table_.push_back(BeyondLargest(f));
  }

  const std::vector<double>& with_beyond() const { return table_; }

  // Compares the answers for `magnitude` and its negative, by both rules.
  void Compare(double magnitude) {
    for (const double value : {magnitude, -magnitude}) {
      CompareBy(value, OverflowRule::kSaturating, largest_);
      CompareBy(value, OverflowRule::kNonSaturating, NonSaturated());
      compared_ += 2;
    }
  }
  int64_t compared() const { return compared_; }

 private:
  double NonSaturated() const {
    if (f_.special_values == SpecialValues::kInfinitiesAndNan) return kInfinite;
    return f_.special_values == SpecialValues::kNanOnly ? Doubles::quiet_NaN() : largest_;
  }

  void CompareBy(double value, OverflowRule rule, double overflowed) {
    const FloatRounding out = RoundToLayout(layout_, value, rule);
    const double nearest = NearestBySearch(table_, std::abs(value));
    const double expected = nearest > largest_ ? overflowed : nearest;
    ASSERT_EQ(std::isnan(out.value), std::isnan(expected)) << f_.name << " " << value;
    if (!std::isnan(expected)) {
      ASSERT_EQ(out.value, std::copysign(expected, value)) << f_.name << " " << value;
      ASSERT_EQ(std::signbit(out.value), std::signbit(value)) << f_.name << " " << value;
    }
    ASSERT_EQ(out.outcome, OutcomeOf(std::abs(value), nearest)) << f_.name << " " << value;
    const bool subnormal = nearest > 0 && nearest < table_[size_t{1} << f_.fraction_bits];
    ASSERT_EQ(out.subnormal, subnormal) << f_.name << " " << value;
  }

  RoundingOutcome OutcomeOf(double magnitude, double nearest) const {
    if (nearest > largest_) return RoundingOutcome::kOverflowed;
    if (nearest == magnitude) return RoundingOutcome::kExact;
    return nearest == 0 ? RoundingOutcome::kUnderflowed : RoundingOutcome::kRounded;
  }

  SmallFloat f_;
  FloatLayout layout_;
  std::vector<double> table_;
  double largest_ = 0;
  int64_t compared_ = 0;
};

// Every number, every midpoint between two neighbours, and the doubles next to each.
TEST(RoundToLayout, AgreesWithSearchAtEveryNumberAndMidpoint) {
  int64_t compared = 0;
  for (const SmallFloat& f : SmallFloats()) {
    Oracle oracle(f);
    const std::vector<double> table = oracle.with_beyond();
    for (size_t i = 0; i + 1 < table.size(); ++i) {
      for (const double at : {table[i], (table[i] + table[i + 1]) / 2}) {
        oracle.Compare(at);
        oracle.Compare(std::nextafter(at, kInfinite));
        oracle.Compare(std::nextafter(at, 0));
      }
      if (HasFatalFailure()) return;
    }
    oracle.Compare(table.back());
    compared += oracle.compared();
  }
  EXPECT_GT(compared, 4 * 6 * (32639 + 31743 + 126 + 123));
}

TEST(RoundToLayout, AgreesWithSearchAtRandom) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> significand(1, 2);
  for (const SmallFloat& f : SmallFloats()) {
    Oracle oracle(f);
    std::uniform_int_distribution<int> exponent(-f.bias - f.fraction_bits - 3, f.bias + 3);
    for (int i = 0; i < 20000; ++i) {
      oracle.Compare(std::ldexp(significand(random), exponent(random)));
      if (HasFatalFailure()) return;
    }
  }
}

// The machine rounds doubles to floats as IEEE 754 has it; half of the values are ties.
TEST(RoundToLayout, OfBinary32IsTheMachines) {
  constexpr FloatLayout kSingle = {"binary32", 8, 23};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> significand(-2, 2);
  std::uniform_int_distribution<int> exponent(-155, 130);
  for (int i = 0; i < 100000; ++i) {
    const auto low = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const float high = std::nextafter(low, std::numeric_limits<float>::infinity());
    if (!std::isfinite(low)) continue;
    for (const double value : {(static_cast<double>(low) + static_cast<double>(high)) / 2,
                               std::ldexp(significand(random), exponent(random))}) {
      ASSERT_EQ(RoundToLayout(kSingle, value, OverflowRule::kNonSaturating).value,
                static_cast<double>(static_cast<float>(value)))
          << value;
    }
  }
}

TEST(RoundToLayout, KeepsEveryDoubleInBinary64) {
  constexpr FloatLayout kDouble = {"binary64", 11, 52};
  for (const double value : {Doubles::denorm_min(), Doubles::min(), 0.1, -1e300, Doubles::max()}) {
    const FloatRounding out = RoundToLayout(kDouble, value, OverflowRule::kNonSaturating);
    EXPECT_EQ(out.value, value);
    EXPECT_EQ(out.outcome, RoundingOutcome::kExact);
  }
}

TEST(RoundToLayout, OverflowsAtTheEndsOfDoubles) {
  for (const SmallFloat& f : SmallFloats()) {
    for (const double value : {Doubles::max(), kInfinite, -Doubles::max(), -kInfinite}) {
      const FloatRounding out = RoundToLayout(LayoutOf(f), value, OverflowRule::kSaturating);
      EXPECT_EQ(std::abs(out.value), FiniteMagnitudes(f).back()) << f.name;
      EXPECT_EQ(out.outcome, RoundingOutcome::kOverflowed) << f.name;
    }
    const FloatRounding tiny =
        RoundToLayout(LayoutOf(f), -Doubles::denorm_min(), OverflowRule::kSaturating);
    EXPECT_EQ(tiny.value, 0) << f.name;
    EXPECT_TRUE(std::signbit(tiny.value)) << f.name;
    EXPECT_EQ(tiny.outcome, RoundingOutcome::kUnderflowed) << f.name;
  }
}

// OCP 8-bit Floating Point v1.0: what infinity becomes in both of its formats, by both rules.
TEST(RoundToLayout, OfInfinityFollowsTheRule) {
  constexpr FloatLayout kE4m3 = {"e4m3", 4, 3, SpecialValues::kNanOnly};
  constexpr FloatLayout kE5m2 = {"e5m2", 5, 2};
  EXPECT_EQ(RoundToLayout(kE4m3, kInfinite, OverflowRule::kSaturating).value, 448);
  EXPECT_TRUE(std::isnan(RoundToLayout(kE4m3, kInfinite, OverflowRule::kNonSaturating).value));
  EXPECT_EQ(RoundToLayout(kE5m2, -kInfinite, OverflowRule::kSaturating).value, -57344);
  const FloatRounding kept = RoundToLayout(kE5m2, -kInfinite, OverflowRule::kNonSaturating);
  EXPECT_EQ(kept.value, -kInfinite);
  EXPECT_EQ(kept.outcome, RoundingOutcome::kExact);
}

TEST(RoundToLayout, KeepsNan) {
  for (const SmallFloat& f : SmallFloats()) {
    for (const auto rule : {OverflowRule::kSaturating, OverflowRule::kNonSaturating}) {
      const FloatRounding out = RoundToLayout(LayoutOf(f), Doubles::quiet_NaN(), rule);
      EXPECT_TRUE(std::isnan(out.value)) << f.name;
      EXPECT_EQ(out.outcome, RoundingOutcome::kNotANumber) << f.name;
    }
  }
}

TEST(RoundToEven, IgnoresTheThreadsRoundingMode) {
  std::fesetround(FE_UPWARD);
  const double below = RoundToEven(2.25);
  const double tie = RoundToEven(2.5);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(below, 2);
  EXPECT_EQ(tie, 2);
  EXPECT_EQ(RoundToEven(3.5), 4);
  EXPECT_EQ(RoundToEven(-3.5), -4);
  EXPECT_EQ(RoundToEven(-0.5), 0);
  EXPECT_EQ(RoundToEven(1e300), 1e300);
}

}  // namespace
}  // namespace sextant
