#include "client/text/amounts.h"

#include <gtest/gtest.h>

namespace sextant::client {
namespace {

TEST(Flops, AreExactWhereTheyAreWhole) {
  EXPECT_EQ(ExactFlops(8796093022208), "8,796,093,022,208 FLOP (8.80 TFLOP)");
  EXPECT_EQ(ExactFlops(144), "144 FLOP");
  EXPECT_EQ(ExactFlops(0), "0 FLOP");
  EXPECT_EQ(ExactFlops(1677.7216), "1.68 kFLOP");
  EXPECT_EQ(ExactFlops(6.3e24), "6.3e+24 FLOP (6.300e+24 FLOP)");
  EXPECT_EQ(ShortFlops(999), "999 FLOP");
  EXPECT_EQ(ShortFlops(0.5), "0.5 FLOP");
  EXPECT_EQ(ShortFlops(1000), "1.00 kFLOP");
}

TEST(Bytes, NeverReadAsZeroWhereTheyAreNot) {
  EXPECT_EQ(ShortBytes(0), "0 bytes");
  EXPECT_EQ(ShortBytes(1), "1 byte");
  EXPECT_EQ(ShortBytes(128), "128 bytes");
  EXPECT_EQ(ShortBytes(1024), "1.00 KiB");
  EXPECT_EQ(ShortBytes(1879048192), "1.75 GiB");
  EXPECT_EQ(ExactBytes(128), "128 bytes");
  EXPECT_EQ(ExactBytes(2415919104), "2,415,919,104 bytes (2.25 GiB)");
}

TEST(Intensity, HasItsUnit) {
  EXPECT_EQ(IntensityText(4681.142857), "4,681.14 FLOP/byte");
  EXPECT_EQ(IntensityText(1.0 / 12), "0.08333 FLOP/byte");
  EXPECT_EQ(IntensityText(1.25e-5), "1.25e-05 FLOP/byte");
  EXPECT_EQ(IntensityNumber(0), "0");
}

TEST(Time, NeverReadsAsZeroWhereItIsNot) {
  EXPECT_EQ(TimeText(0), "0.00 s");
  EXPECT_EQ(TimeText(8.9085e-3), "8.91 ms");
  EXPECT_EQ(TimeText(7200), "2.00 hours");
  EXPECT_EQ(TimeText(2e-11), "0.02 ns");
  EXPECT_EQ(TimeText(1.25e-13), "1.25e-13 s");
}

TEST(Ratio, NeverReadsAsZeroWhereItIsNot) {
  EXPECT_EQ(RatioText(2), "2.00 x");
  EXPECT_EQ(RatioText(0), "0.00 x");
  EXPECT_EQ(RatioText(0.00125), "0.00125 x");
}

TEST(SizesText, IsAList) {
  EXPECT_EQ(SizesText({4, 8}), "[4, 8]");
  EXPECT_EQ(SizesText({}), "[]");
}

}  // namespace
}  // namespace sextant::client
