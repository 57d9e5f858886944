#include "engine/tensor/rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>

#include "tests/engine/tensor/float_tables.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
constexpr double kEndless = std::numeric_limits<double>::infinity();

RoundedValue Round(DataType type, double value, const RoundingOptions& options = {}) {
  const auto out = RoundTo(type, value, options);
  EXPECT_THAT(out, IsOk());
  return out.value_or(RoundedValue());
}

std::string ReasonFor(DataType type, double value, const RoundingOptions& options = {}) {
  return RoundingReason(**FindNumberFormat(type), value, Round(type, value, options));
}

TEST(RoundTo, IsWorkedByHand) {
  struct Case {
    DataType type;
    double value;
    double expected;
    RoundingOutcome outcome;
    bool subnormal;
  };
  using Outcome = RoundingOutcome;
  const Case cases[] = {
      {DataType::kFp16, 1e-8, 0, Outcome::kUnderflowed, false},
      {DataType::kFp16, std::ldexp(1, -25), 0, Outcome::kUnderflowed, false},  // tie: even is 0
      {DataType::kFp16, std::ldexp(1.5, -25), std::ldexp(1, -24), Outcome::kRounded, true},
      {DataType::kFp16, std::ldexp(1, -20), std::ldexp(1, -20), Outcome::kExact, true},
      {DataType::kFp16, 65519, 65504, Outcome::kRounded, false},
      {DataType::kFp16, 65520, kEndless, Outcome::kOverflowed, false},
      {DataType::kFp16, -kEndless, -kEndless, Outcome::kExact, false},
      {DataType::kBf16, 1 + std::ldexp(1, -8), 1, Outcome::kRounded, false},
      {DataType::kBf16, 1 + std::ldexp(3, -8), 1 + std::ldexp(4, -8), Outcome::kRounded, false},
      {DataType::kTf32, 1 + std::ldexp(1, -10), 1 + std::ldexp(1, -10), Outcome::kExact, false},
      {DataType::kTf32, 1 + std::ldexp(1, -11), 1, Outcome::kRounded, false},
      {DataType::kFp32, 16777217, 16777216, Outcome::kRounded, false},
      {DataType::kFp64, 0.1, 0.1, Outcome::kExact, false},
      {DataType::kFp8E4m3, 464, 448, Outcome::kRounded, false},
      {DataType::kFp8E4m3, 465, 448, Outcome::kOverflowed, false},
      {DataType::kFp8E5m2, -1e6, -57344, Outcome::kOverflowed, false},
      {DataType::kMxfp4, 7.9, 6, Outcome::kOverflowed, false},    // scale 1
      {DataType::kMxfp4, 3, 3, Outcome::kExact, false},           // scale 0.5, element 6
      {DataType::kMxfp8, 500, 448, Outcome::kOverflowed, false},  // scale 1
      {DataType::kNvfp4, 6, 6, Outcome::kExact, false},           // scale 1
      {DataType::kNvfp4, 1e6, 6 * 448, Outcome::kOverflowed, false},
      {DataType::kNvfp4, 1e-3, 0, Outcome::kUnderflowed, false},  // the scale itself becomes 0
      {DataType::kInt8, 127.4, 127, Outcome::kRounded, false},
      {DataType::kInt8, 127.5, 127, Outcome::kOverflowed, false},
      {DataType::kInt8, -128.5, -128, Outcome::kRounded, false},
      {DataType::kInt8, -1e300, -128, Outcome::kOverflowed, false},
      {DataType::kInt8, -0.5, 0, Outcome::kUnderflowed, false},
      {DataType::kInt4, 2.5, 2, Outcome::kRounded, false},
      {DataType::kInt4, 3.5, 4, Outcome::kRounded, false},
      {DataType::kInt4, kEndless, 7, Outcome::kOverflowed, false},
      {DataType::kInt4, -kEndless, -8, Outcome::kOverflowed, false},
  };
  for (const Case& c : cases) {
    const RoundedValue out = Round(c.type, c.value);
    EXPECT_EQ(out.value, c.expected) << DataTypeName(c.type) << " " << c.value;
    EXPECT_EQ(out.outcome, c.outcome) << DataTypeName(c.type) << " " << c.value;
    EXPECT_EQ(out.subnormal, c.subnormal) << DataTypeName(c.type) << " " << c.value;
  }
}

// Every eighth around the integers' ends, against the nearest by search.
TEST(RoundTo, OfIntegersAgreesWithSearch) {
  for (const auto& [type, lowest, largest] :
       {std::tuple(DataType::kInt8, -128, 127), std::tuple(DataType::kInt4, -8, 7)}) {
    for (int eighths = 8 * (lowest - 3); eighths <= 8 * (largest + 3); ++eighths) {
      const double value = eighths / 8.0;
      int nearest = lowest;
      for (int i = lowest; i <= largest; ++i) {
        const double gain = std::abs(nearest - value) - std::abs(i - value);
        if (gain > 0 || (gain == 0 && i % 2 == 0)) nearest = i;
      }
      const RoundedValue out = Round(type, value);
      EXPECT_EQ(out.value, nearest) << value;
      EXPECT_FALSE(std::signbit(out.value) && out.value == 0) << value;
      EXPECT_EQ(out.code, static_cast<uint32_t>(nearest) % (type == DataType::kInt8 ? 256 : 16));
    }
  }
}

TEST(RoundTo, FollowsTheRuleAskedFor) {
  const RoundingOptions saturating = {.overflow_rule = OverflowRule::kSaturating};
  const RoundingOptions not_saturating = {.overflow_rule = OverflowRule::kNonSaturating};
  EXPECT_EQ(Round(DataType::kFp16, 1e6).overflow_rule, OverflowRule::kNonSaturating);
  EXPECT_EQ(Round(DataType::kFp16, 1e6, saturating).value, 65504);
  EXPECT_EQ(Round(DataType::kFp8E4m3, 1e6).overflow_rule, OverflowRule::kSaturating);
  EXPECT_TRUE(std::isnan(Round(DataType::kFp8E4m3, 1e6, not_saturating).value));
  EXPECT_EQ(Round(DataType::kFp8E5m2, 1e6, not_saturating).value, kEndless);
  EXPECT_EQ(Round(DataType::kInt8, 1e6, saturating).value, 127);
}

TEST(RoundTo, TakesABlocksMaximum) {
  const RoundedValue out = Round(DataType::kMxfp4, 0.4, {.block_maximum = 6});
  EXPECT_EQ(out.block_scale, 1);
  EXPECT_EQ(out.value, 0.5);
  EXPECT_TRUE(out.subnormal);
  EXPECT_EQ(Round(DataType::kMxfp4, -0.2, {.block_maximum = 6}).outcome,
            RoundingOutcome::kUnderflowed);
  EXPECT_EQ(Round(DataType::kNvfp4, 1, {.block_maximum = 12}).block_scale, 2);
  EXPECT_EQ(Round(DataType::kFp16, 1).block_scale, absl::nullopt);
}

TEST(RoundTo, SaysTheRelativeErrorWhereThereIsOne) {
  EXPECT_EQ(Round(DataType::kFp16, 0).relative_error, 0);
  EXPECT_EQ(Round(DataType::kFp16, 1e-8).relative_error, 1);
  EXPECT_EQ(Round(DataType::kBf16, 257).relative_error, 1.0 / 257);
  EXPECT_EQ(Round(DataType::kFp8E4m3, -896).relative_error, 0.5);
  EXPECT_EQ(Round(DataType::kFp16, 1e6).relative_error, absl::nullopt);
  EXPECT_EQ(Round(DataType::kFp8E4m3, kEndless).relative_error, absl::nullopt);
  EXPECT_EQ(Round(DataType::kFp16, std::nan("")).relative_error, absl::nullopt);
}

TEST(RoundTo, GivesCodesOfUpTo32Bits) {
  EXPECT_EQ(Round(DataType::kFp32, 1).code, 0x3f800000u);
  EXPECT_EQ(Round(DataType::kTf32, -1).code, 0x5fc00u);
  EXPECT_EQ(Round(DataType::kBf16, kEndless).code, 0x7f80u);
  EXPECT_EQ(Round(DataType::kFp8E4m3, std::nan("")).code, 0x7fu);
  EXPECT_EQ(Round(DataType::kFp16, -0.0).code, 0x8000u);
  EXPECT_EQ(Round(DataType::kFp64, 1).code, absl::nullopt);
  EXPECT_EQ(Round(DataType::kMxfp8, 1).code, absl::nullopt);
}

TEST(RoundTo, KeepsNanWhereItCan) {
  for (const NumberFormat& format : NumberFormats()) {
    if (format.kind == NumberKind::kFloatFamily) continue;
    const auto out = RoundTo(format.type, std::nan(""));
    if (format.kind == NumberKind::kInteger) {
      EXPECT_THAT(out, NamesFields(ElementsAre("value")));
      continue;
    }
    ASSERT_THAT(out, IsOk());
    EXPECT_TRUE(std::isnan(out->value)) << DataTypeName(format.type);
    EXPECT_EQ(out->outcome, RoundingOutcome::kNotANumber) << DataTypeName(format.type);
    EXPECT_EQ(format.block.has_value(), out->block_scale.has_value());
    EXPECT_TRUE(std::isnan(out->block_scale.value_or(std::nan("")))) << DataTypeName(format.type);
  }
}

TEST(RoundTo, RefusesFamiliesAndNone) {
  for (const DataType type :
       {DataType::kUnspecified, DataType::kFp8, DataType::kFp6, DataType::kFp4}) {
    EXPECT_THAT(RoundTo(type, 1), NamesFields(ElementsAre("data_type"))) << DataTypeName(type);
  }
}

TEST(RoundTo, RefusesOptionsThatDoNotApply) {
  const RoundingOptions not_saturating = {.overflow_rule = OverflowRule::kNonSaturating};
  for (const DataType type :
       {DataType::kInt8, DataType::kInt4, DataType::kMxfp8, DataType::kMxfp4, DataType::kNvfp4}) {
    EXPECT_THAT(RoundTo(type, 1, not_saturating), NamesFields(ElementsAre("overflow_rule")));
  }
  for (const DataType type : {DataType::kFp32, DataType::kFp8E4m3, DataType::kInt8}) {
    EXPECT_THAT(RoundTo(type, 1, {.block_maximum = 2}), NamesFields(ElementsAre("block_maximum")));
  }
  for (const double maximum : {0.0, 0.5, -2.0, kEndless, std::nan("")}) {
    EXPECT_THAT(RoundTo(DataType::kMxfp4, -1, {.block_maximum = maximum}),
                NamesFields(ElementsAre("block_maximum")))
        << maximum;
  }
}

TEST(RoundingReason, SaysWhatHappenedAndWhy) {
  EXPECT_EQ(ReasonFor(DataType::kFp16, 1e-8),
            "1e-08 is at most half of the smallest number of fp16, 5.9604644775390625e-08: it "
            "becomes 0");
  EXPECT_EQ(ReasonFor(DataType::kFp16, 70000),
            "70000 lies past the largest number of fp16, 65504 in magnitude: non_saturating, it "
            "becomes inf");
  EXPECT_EQ(ReasonFor(DataType::kInt8, -200),
            "-200 lies past the largest number of int8, 128 in magnitude: saturating, it becomes "
            "-128");
  EXPECT_EQ(ReasonFor(DataType::kBf16, 0.5), "0.5 is a number of bf16");
  EXPECT_THAT(ReasonFor(DataType::kBf16, 0.1), HasSubstr("0.10009765625"));
  EXPECT_THAT(ReasonFor(DataType::kFp16, 1e-6), HasSubstr("fewer significant bits"));
  EXPECT_THAT(ReasonFor(DataType::kMxfp4, 0.4, {.block_maximum = 6}),
              HasSubstr("mxfp4 in a block of scale 1"));
  EXPECT_THAT(ReasonFor(DataType::kMxfp4, 1e300), HasSubstr("the scale becomes NaN"));
  EXPECT_THAT(ReasonFor(DataType::kNvfp4, 1e-3), HasSubstr("whose scale underflows e4m3"));
  EXPECT_EQ(ReasonFor(DataType::kFp32, std::nan("")), "NaN stays NaN");
}

const NumberFormat& Find(DataType type) { return **FindNumberFormat(type); }

const SmallFloat& Small(const std::string& name) {
  for (const SmallFloat& f : SmallFloats()) {
    if (f.name == name) return f;
  }
  return SmallFloats().front();
}

// All magnitudes of `name` and the one beyond, each times `factor`: exact, both having few bits.
std::vector<double> Scaled(const std::string& name, double factor) {
  std::vector<double> out = FiniteMagnitudes(Small(name));
  out.push_back(BeyondLargest(Small(name)));
  for (double& value : out) value *= factor;
  return out;
}

std::vector<double> WithNeighbours(double value) {
  return {value, std::nextafter(value, kEndless), std::nextafter(value, 0)};
}

// Each number of `table`, each midpoint, and the doubles next to them.
std::vector<double> NumbersAndMidpoints(const std::vector<double>& table) {
  std::vector<double> out;
  for (size_t i = 0; i + 1 < table.size(); ++i) {
    for (const double at : {table[i], table[i] + (table[i + 1] - table[i]) / 2}) {
      for (const double value : WithNeighbours(at)) out.push_back(value);
    }
  }
  return out;
}

// The largest power of 2 that is at most `value`, by steps.
double PowerBelow(double value) {
  double power = 1;
  while (power > value) power /= 2;
  while (power * 2 <= value) power *= 2;
  return power;
}

TEST(BlockScale, OfMxFormatsIsThePowerBelowOverTheElementsLargest) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> significand(1, 2);
  for (int exponent = -100; exponent <= 100; ++exponent) {
    const double power = std::ldexp(1, exponent);
    for (const double maximum :
         {power, std::nextafter(power, 0), std::ldexp(significand(random), exponent)}) {
      EXPECT_EQ(BlockScaleFor(Find(DataType::kMxfp4), maximum), PowerBelow(maximum) / 4);
      EXPECT_EQ(BlockScaleFor(Find(DataType::kMxfp8), maximum), PowerBelow(maximum) / 256);
    }
  }
}

// microsoft/microxcaling, mx_ops.py: below its range the scale stays at 2^-127, above it is NaN.
TEST(BlockScale, OfMxFormatsEndsAsTheReferenceHasIt) {
  const NumberFormat& format = Find(DataType::kMxfp4);
  const double smallest = std::ldexp(1, -127);
  for (const double maximum : {0.0, 1e-320, 1e-300, std::ldexp(1, -126)}) {
    EXPECT_EQ(BlockScaleFor(format, maximum), smallest) << maximum;
  }
  EXPECT_EQ(BlockScaleFor(format, std::ldexp(1, -124)), 2 * smallest);
  EXPECT_EQ(BlockScaleFor(format, std::nextafter(std::ldexp(1, 130), 0)), std::ldexp(1, 127));
  for (const double maximum : {std::ldexp(1, 130), 1e300, kEndless, std::nan("")}) {
    EXPECT_TRUE(std::isnan(BlockScaleFor(format, maximum))) << maximum;
  }
}

// The tie is decided by maximum against 6 times the midpoint, which is exact; a quotient in
// doubles is not.
TEST(BlockScale, OfNvfp4IsTheNearestE4m3) {
  const std::vector<double> table = Scaled("e4m3", 6);
  int64_t compared = 0;
  for (const double maximum : NumbersAndMidpoints(table)) {
    const double expected = std::fmin(NearestBySearch(table, maximum) / 6, 448);
    EXPECT_EQ(BlockScaleFor(Find(DataType::kNvfp4), maximum), expected) << maximum;
    ++compared;
  }
  EXPECT_EQ(compared, 127 * 6);
  EXPECT_EQ(BlockScaleFor(Find(DataType::kNvfp4), kEndless), 448);
  EXPECT_EQ(BlockScaleFor(Find(DataType::kNvfp4), 1e300), 448);
}

// Against a search over the scaled elements, at each of them and each midpoint.
void CompareElements(DataType type, const std::string& element, double scale) {
  const std::vector<double> table = Scaled(element, scale);
  const double largest = table[table.size() - 2];
  for (const double magnitude : NumbersAndMidpoints(table)) {
    const double nearest = NearestBySearch(table, magnitude);
    for (const double value : {magnitude, -magnitude}) {
      const FloatRounding out = RoundInBlock(Find(type), value, scale);
      ASSERT_EQ(out.value, std::copysign(std::fmin(nearest, largest), value))
          << value << " in a block of scale " << scale;
      ASSERT_EQ(out.outcome == RoundingOutcome::kOverflowed, nearest > largest) << value;
      ASSERT_EQ(out.outcome == RoundingOutcome::kExact, nearest == magnitude) << value;
      ASSERT_EQ(out.outcome == RoundingOutcome::kUnderflowed, nearest == 0 && magnitude != 0);
    }
  }
}

TEST(RoundInBlock, OfNvfp4AgreesWithSearchUnderEveryScale) {
  for (const double scale : FiniteMagnitudes(Small("e4m3"))) {
    if (scale != 0) CompareElements(DataType::kNvfp4, "e2m1", scale);
    if (HasFatalFailure()) return;
  }
}

TEST(RoundInBlock, OfMxFormatsAgreesWithSearchUnderEveryScale) {
  for (int exponent = -127; exponent <= 127; ++exponent) {
    CompareElements(DataType::kMxfp4, "e2m1", std::ldexp(1, exponent));
    CompareElements(DataType::kMxfp8, "e4m3", std::ldexp(1, exponent));
    if (HasFatalFailure()) return;
  }
}

TEST(RoundInBlock, HasAnAnswerForEveryScale) {
  const NumberFormat& format = Find(DataType::kNvfp4);
  const FloatRounding lost = RoundInBlock(format, -0.25, 0);
  EXPECT_EQ(lost.value, 0);
  EXPECT_EQ(lost.outcome, RoundingOutcome::kUnderflowed);
  EXPECT_EQ(RoundInBlock(format, 0, 0).outcome, RoundingOutcome::kExact);
  EXPECT_EQ(RoundInBlock(format, kEndless, 448).value, 6 * 448);
  EXPECT_EQ(RoundInBlock(format, 1e308, std::ldexp(1, -9)).value, 6 * std::ldexp(1, -9));
  const FloatRounding broken = RoundInBlock(Find(DataType::kMxfp4), 1, std::nan(""));
  EXPECT_TRUE(std::isnan(broken.value));
  EXPECT_EQ(broken.outcome, RoundingOutcome::kOverflowed);
  EXPECT_EQ(RoundInBlock(format, std::nan(""), 1).outcome, RoundingOutcome::kNotANumber);
}

}  // namespace
}  // namespace sextant
