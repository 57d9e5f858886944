#include "proto/text/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace sextant::text {
namespace {

TEST(Grouped, PutsACommaBeforeEveryThirdDigit) {
  EXPECT_EQ(Grouped(int64_t{0}), "0");
  EXPECT_EQ(Grouped(int64_t{999}), "999");
  EXPECT_EQ(Grouped(int64_t{1000}), "1,000");
  EXPECT_EQ(Grouped(int64_t{-123456}), "-123,456");
  EXPECT_EQ(Grouped(int64_t{70'553'706'496}), "70,553,706,496");
  EXPECT_EQ(Grouped(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(Grouped(1234.5, 2), "1,234.50");
  EXPECT_EQ(Grouped(0.12345, 2), "0.12");
  EXPECT_EQ(Grouped(std::numeric_limits<double>::infinity(), 2), "inf");
}

TEST(Gib, HasTwoDecimalsAndTheUnit) {
  EXPECT_EQ(Gib(int64_t{0}), "0.00 GiB");
  EXPECT_EQ(Gib(int64_t{1} << 30), "1.00 GiB");
  EXPECT_EQ(Gib(80'000'000'000), "74.51 GiB");  // 80e9 / 2^30 = 74.5058
  EXPECT_EQ(Gib(int64_t{1} << 41), "2,048.00 GiB");
  EXPECT_EQ(Gib(-(int64_t{3} << 29)), "-1.50 GiB");
}

// Fits or not turns on single bytes.
TEST(Gib, NeverHidesAFewBytes) {
  EXPECT_EQ(Gib(int64_t{-1}), "-0.00 GiB (-1 bytes)");
  EXPECT_EQ(Gib(4096.), "0.00 GiB (4,096 bytes)");
}

TEST(Plain, IsExactForWholeNumbers) {
  EXPECT_EQ(Plain(2), "2");
  EXPECT_EQ(Plain(1.001953125), "1.001953125");
  EXPECT_EQ(Plain(1.2e10), "12,000,000,000");
  EXPECT_EQ(Plain(1.2e20), "1.2e+20");
  EXPECT_EQ(Plain(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Scaled, PicksAReadablePrefix) {
  EXPECT_EQ(Scaled(9.894e14, "FLOP/s"), "989.40 TFLOP/s");
  EXPECT_EQ(Scaled(3.35e12, "B/s"), "3.35 TB/s");
  EXPECT_EQ(Scaled(0, "W"), "0.00 W");
  EXPECT_EQ(Scaled(700, "W"), "700.00 W");
  // Rounds over the edge of a prefix.
  EXPECT_EQ(Scaled(999.996, "W"), "1.00 kW");
  EXPECT_EQ(Scaled(6.35e24, "FLOP"), "6.350e+24 FLOP");
}

TEST(WithUnit, MemoryIsBinaryAndRatesAreDecimal) {
  EXPECT_EQ(WithUnit(80e9, "byte"), "74.51 GiB");
  EXPECT_EQ(WithUnit(52428800, "byte"), "50.00 MiB");  // 50 x 2^20: a cache
  EXPECT_EQ(WithUnit(262144, "byte"), "256.00 KiB");
  EXPECT_EQ(WithUnit(0, "byte"), "0.00 GiB");
  EXPECT_EQ(WithUnit(3.35e12, "byte/s"), "3.35 TB/s");
  EXPECT_EQ(WithUnit(2.5, "USD/h"), "2.5 USD/h");
  EXPECT_EQ(WithUnit(5, ""), "5");
}

TEST(Duration, PicksAReadableUnit) {
  EXPECT_EQ(Duration(86400 * 1234.5), "1,234.50 days");
  EXPECT_EQ(Duration(86400), "1.00 days");
  EXPECT_EQ(Duration(15000), "4.17 hours");  // 15000 / 3600 = 4.1667
  EXPECT_EQ(Duration(2460), "41.00 minutes");
  EXPECT_EQ(Duration(60), "1.00 minutes");
  EXPECT_EQ(Duration(45), "45.00 s");
}

TEST(ShortTime, PicksAReadableUnit) {
  EXPECT_EQ(ShortTime(1234.5), "1,234.50 s");
  EXPECT_EQ(ShortTime(1), "1.00 s");
  EXPECT_EQ(ShortTime(6.25e-3), "6.25 ms");
  EXPECT_EQ(ShortTime(12.3e-6), "12.30 us");
  EXPECT_EQ(ShortTime(8.5e-7), "850.00 ns");
  // Rounds over the edge of a unit.
  EXPECT_EQ(ShortTime(0.999996), "1.00 s");
  EXPECT_EQ(ShortTime(0), "0.00 s");
  EXPECT_EQ(ShortTime(-6.25e-3), "-6.25 ms");
  EXPECT_EQ(ShortTime(std::numeric_limits<double>::quiet_NaN()), "nan s");
  EXPECT_EQ(ShortTime(std::numeric_limits<double>::infinity()), "inf s");
}

TEST(Energy, PicksAReadableUnit) {
  EXPECT_EQ(Energy(3.6e6), "1.00 kWh");
  EXPECT_EQ(Energy(3.6e9), "1.00 MWh");
  EXPECT_EQ(Energy(3.6e12 * 1500), "1,500.00 GWh");
}

TEST(Percent, IsOfOne) { EXPECT_EQ(Percent(0.4), "40.00 %"); }

TEST(Percent, CallsNothingZeroThatIsNot) {
  EXPECT_EQ(Percent(0), "0.00 %");
  EXPECT_EQ(Percent(1e-12), "< 0.01 %");
  EXPECT_EQ(Percent(0.0000999), "< 0.01 %");
  EXPECT_EQ(Percent(0.0001), "0.01 %");
}

TEST(Scaled, TakesFewerDecimals) {
  EXPECT_EQ(Scaled(0, "B/s", 1), "0.0 B/s");
  EXPECT_EQ(Scaled(312.4e9, "FLOP/s", 1), "312.4 GFLOP/s");
  EXPECT_EQ(Scaled(999.94, "B/s", 1), "999.9 B/s");
  EXPECT_EQ(Scaled(999.96, "B/s", 1), "1.0 kB/s");
  EXPECT_EQ(Scaled(1e15, "FLOP/s", 1), "1.0 PFLOP/s");
  EXPECT_EQ(Scaled(1e24, "FLOP/s", 1), "1.000e+24 FLOP/s");
  EXPECT_EQ(Scaled(std::numeric_limits<double>::infinity(), "B/s", 1), "inf B/s");
}

TEST(ScaledToFourDigits, TellsCloseRatesApart) {
  EXPECT_EQ(ScaledToFourDigits(2.85e12, "B/s"), "2.850 TB/s");
  EXPECT_EQ(ScaledToFourDigits(28.5e12, "B/s"), "28.50 TB/s");
  EXPECT_EQ(ScaledToFourDigits(712.34e12, "FLOP/s"), "712.3 TFLOP/s");
  EXPECT_EQ(ScaledToFourDigits(9.9996e9, "B/s"), "10.00 GB/s");
  EXPECT_EQ(ScaledToFourDigits(999.96, "B/s"), "1.000 kB/s");
  EXPECT_EQ(ScaledToFourDigits(1e24, "FLOP/s"), "1.000e+24 FLOP/s");
}

TEST(TimeToThreeDigits, PicksAReadableUnit) {
  EXPECT_EQ(TimeToThreeDigits(1.234e-8), "12.3 ns");
  EXPECT_EQ(TimeToThreeDigits(1.5e-3), "1.50 ms");
  EXPECT_EQ(TimeToThreeDigits(999.4e-6), "999 us");
  EXPECT_EQ(TimeToThreeDigits(999.6e-6), "1.00 ms");
  EXPECT_EQ(TimeToThreeDigits(44.1), "44.1 s");
  EXPECT_EQ(TimeToThreeDigits(9.996), "10.0 s");
  EXPECT_EQ(TimeToThreeDigits(99.96), "100 s");
  EXPECT_EQ(TimeToThreeDigits(12345), "12345 s");
  EXPECT_EQ(TimeToThreeDigits(0), "0.00 ns");
}

TEST(BinaryBytes, PicksAReadableUnit) {
  EXPECT_EQ(BinaryBytes(0), "0 B");
  EXPECT_EQ(BinaryBytes(1023), "1023 B");
  EXPECT_EQ(BinaryBytes(65536), "64.00 KiB");
  EXPECT_EQ(BinaryBytes(int64_t{1} << 30), "1.00 GiB");
  EXPECT_EQ(BinaryBytes(std::numeric_limits<int64_t>::max()), "8.00 EiB");
  EXPECT_EQ(BinaryBytes((1 << 20) - 1), "1.00 MiB");
}

TEST(PercentToTenth, RoundsToATenth) {
  EXPECT_EQ(PercentToTenth(0.0123), "1.2 %");
  EXPECT_EQ(PercentToTenth(0), "0.0 %");
  EXPECT_EQ(PercentToTenth(-0.05), "-5.0 %");
}

TEST(DisplayWidth, CountsCharacters) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("\xC3\xA9t\xC3\xA9"), 3);  // e acute, t, e acute
}

TEST(Printable, TakesControlOfTheTerminalFromNobody) {
  EXPECT_EQ(Printable("a\x1b[2Jb\r\n\x7f"), "a?[2Jb?\n?");
  EXPECT_EQ(Printable("a\xC2\x9B"
                      "2Jb"),
            "a?2Jb");                                              // U+009B: as good as ESC [
  EXPECT_EQ(Printable("\xC3\x9B \xC2\xB5"), "\xC3\x9B \xC2\xB5");  // letters
  EXPECT_EQ(Printable("\xC2"), "\xC2");
}

TEST(OneLine, HasNoLineEnds) { EXPECT_EQ(OneLine("a\r\nb\nc"), "a  b c"); }

TEST(Words, StandApart) {
  EXPECT_EQ(Words("attention_query_key_value"), "attention query key value");
  EXPECT_EQ(Words("norm"), "norm");
}

}  // namespace
}  // namespace sextant::text
