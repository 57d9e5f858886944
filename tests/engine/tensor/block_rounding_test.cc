#include "engine/tensor/block_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/engine/tensor/float_tables.h"

namespace sextant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
  return {value, std::nextafter(value, kInfinity), std::nextafter(value, 0)};
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
  for (const double maximum : {std::ldexp(1, 130), 1e300, kInfinity, std::nan("")}) {
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
  EXPECT_EQ(BlockScaleFor(Find(DataType::kNvfp4), kInfinity), 448);
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
  EXPECT_EQ(RoundInBlock(format, kInfinity, 448).value, 6 * 448);
  EXPECT_EQ(RoundInBlock(format, 1e308, std::ldexp(1, -9)).value, 6 * std::ldexp(1, -9));
  const FloatRounding broken = RoundInBlock(Find(DataType::kMxfp4), 1, std::nan(""));
  EXPECT_TRUE(std::isnan(broken.value));
  EXPECT_EQ(broken.outcome, RoundingOutcome::kOverflowed);
  EXPECT_EQ(RoundInBlock(format, std::nan(""), 1).outcome, RoundingOutcome::kNotANumber);
}

}  // namespace
}  // namespace sextant
