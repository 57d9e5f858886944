#include "client/flags/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct WholeCase {
  const char* text;
  int64_t expect;
};

TEST(ParseCount, ReadsWhatPeopleWrite) {
  const WholeCase cases[] = {
      // Plain, signed and zero: ranges are the server's.
      {"1024", 1024},
      {"+7", 7},
      {"-1", -1},
      {"0", 0},
      {"-0", 0},
      {"007", 7},
      // Exponents, with points that they move to the end.
      {"15e12", 15'000'000'000'000},
      {"1.5e1", 15},
      {"1E+3", 1000},
      {"1500e-2", 15},
      {"0e999999999999", 0},
      // Decimal suffixes, either case.
      {"2K", 2'000},
      {"3M", 3'000'000},
      {"70B", 70'000'000'000},
      {"70b", 70'000'000'000},
      {"15T", 15'000'000'000'000},
      {"1.5T", 1'500'000'000'000},
      {".5K", 500},
      {"1.", 1},
      {"1e3K", 1'000'000},
      // Exact where a double would not be: 2^53 + 1, and 11 digits in billions.
      {"9007199254740993", 9'007'199'254'740'993},
      {"70.553706496B", 70'553'706'496},
      // The ends of int64.
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<int64_t>::min()},
  };
  for (const WholeCase& c : cases) {
    const absl::StatusOr<int64_t> count = ParseCount(c.text);
    ASSERT_TRUE(count.ok()) << c.text << ": " << count.status();
    EXPECT_EQ(*count, c.expect) << c.text;
  }
}

struct BadCase {
  const char* text;
  const char* expect;  // in the message
};

TEST(ParseCount, SaysWhatToWriteInstead) {
  const BadCase cases[] = {
      // No number.
      {"", "not a whole number; write a whole number such as 1024, 15e12 or 70B"},
      {"abc", "not a whole number"},
      {"NaN", "not a whole number"},
      {"inf", "not a whole number"},
      {"-", "not a whole number"},
      {".", "not a whole number"},
      {" 1", "not a whole number"},
      // A fraction.
      {"1.5", "\"1.5\" is not a whole number"},
      {"1e-1", "not a whole number"},
      {"1.0005K", "not a whole number"},
      {"0.00000000000000000000000000001", "not a whole number"},
      // Too large.
      {"1e19", "does not fit in 64 bits; write at most 9223372036854775807"},
      {"9223372036854775808", "does not fit in 64 bits"},
      {"-9223372036854775809", "does not fit in 64 bits"},
      {"10000000T", "does not fit in 64 bits"},
      {"1e999999999999", "does not fit in 64 bits"},
      {"123456789012345678901234567890", "does not fit in 64 bits"},
      // Text after the number.
      {"70_553", "ends in \"_553\""},
      {"1,024", "ends in \",024\""},
      {"8GiB", "ends in \"GiB\", which is not a unit here"},
      {"5e", "ends in \"e\""},
      {"5 ", "ends in \" \""},
  };
  for (const BadCase& c : cases) {
    const absl::StatusOr<int64_t> count = ParseCount(c.text);
    ASSERT_FALSE(count.ok()) << c.text << " read as " << *count;
    EXPECT_EQ(count.status().code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(std::string(count.status().message()), HasSubstr(c.expect)) << c.text;
  }
}

TEST(ParseByteCount, KeepsBinaryAndDecimalApart) {
  const WholeCase cases[] = {
      {"85899345920", 85'899'345'920},
      {"80e9", 80'000'000'000},
      {"512B", 512},
      {"1kB", 1'000},
      {"1KB", 1'000},
      {"2MB", 2'000'000},
      {"80GB", 80'000'000'000},
      {"2TB", 2'000'000'000'000},
      {"1PB", 1'000'000'000'000'000},
      {"1KiB", 1'024},
      {"1MiB", 1'048'576},
      {"80GiB", 85'899'345'920},  // 80 x 2^30
      {"1TiB", 1'099'511'627'776},
      {"1PiB", 1'125'899'906'842'624},
      {"1.5GiB", 1'610'612'736},  // 1.5 x 2^30, whole
      {"-1GiB", -1'073'741'824},
  };
  for (const WholeCase& c : cases) {
    const absl::StatusOr<int64_t> bytes = ParseByteCount(c.text);
    ASSERT_TRUE(bytes.ok()) << c.text << ": " << bytes.status();
    EXPECT_EQ(*bytes, c.expect) << c.text;
  }
}

TEST(ParseByteCount, RefusesWhatCouldMeanTwoThings) {
  for (const char* text : {"80G", "80T", "15K", "80gb", "80Gb", "0.3KiB", "9000PiB", "", "nan"}) {
    const absl::StatusOr<int64_t> bytes = ParseByteCount(text);
    ASSERT_FALSE(bytes.ok()) << text << " read as " << *bytes;
    EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(std::string(ParseByteCount("80G").status().message()),
              HasSubstr("80GiB (2^30 each) or 80GB (1e9 each)"));
}

TEST(ParseNanoseconds, ReadsATimeWithItsUnit) {
  const WholeCase cases[] = {
      {"90s", 90'000'000'000},
      {"15m", 900'000'000'000},
      {"1.5h", 5'400'000'000'000},
      {"36h", 129'600'000'000'000},
      {"7d", 604'800'000'000'000},
      {"1e-9s", 1},
      {"0s", 0},
      {"-1s", -1'000'000'000},
      {"106751d", 9'223'286'400'000'000'000},
  };
  for (const WholeCase& c : cases) {
    const absl::StatusOr<int64_t> time = ParseNanoseconds(c.text);
    ASSERT_TRUE(time.ok()) << c.text << ": " << time.status();
    EXPECT_EQ(*time, c.expect) << c.text;
  }
}

TEST(ParseNanoseconds, SaysWhatToWrite) {
  const BadCase cases[] = {
      {"", "write a time with its unit such as 90s"},
      {"90", "has no unit"},
      {"h", "write a time"},
      {"1H", "ends in \"H\", which is not a unit here"},
      {"1h30m", "ends in \"h30m\""},
      {"1e-10s", "is not a whole number"},
      {"106752d", "write at most 106751d (292 years)"},
      {"nan", "write a time"},
  };
  for (const BadCase& c : cases) {
    const absl::StatusOr<int64_t> time = ParseNanoseconds(c.text);
    ASSERT_FALSE(time.ok()) << c.text;
    EXPECT_THAT(std::string(time.status().message()), HasSubstr(c.expect)) << c.text;
  }
}

TEST(ParseNumber, LeavesRangesToTheServer) {
  EXPECT_DOUBLE_EQ(ParseNumber("0.4").value_or(-1), 0.4);
  EXPECT_DOUBLE_EQ(ParseNumber("989.4e12").value_or(-1), 989.4e12);
  EXPECT_DOUBLE_EQ(ParseNumber("-3").value_or(0), -3);
  EXPECT_TRUE(std::isnan(ParseNumber("NaN").value_or(0)));
  EXPECT_TRUE(std::isinf(ParseNumber("inf").value_or(0)));
}

TEST(ParseNumber, RefusesWhatIsNone) {
  for (const char* text : {"", "abc", "40%", "1,5", "0.4x"}) {
    EXPECT_FALSE(ParseNumber(text).ok()) << text;
  }
}

TEST(ParseSeconds, ReadsShortTimesAndLongOnes) {
  EXPECT_DOUBLE_EQ(*ParseSeconds("6.9ms"), 6.9e-3);
  EXPECT_DOUBLE_EQ(*ParseSeconds("12us"), 12e-6);
  EXPECT_DOUBLE_EQ(*ParseSeconds("850ns"), 850e-9);
  EXPECT_DOUBLE_EQ(*ParseSeconds("1.2s"), 1.2);
  EXPECT_DOUBLE_EQ(*ParseSeconds("1e-3s"), 1e-3);
  EXPECT_DOUBLE_EQ(*ParseSeconds("5m"), 300);  // minutes, as everywhere
  EXPECT_DOUBLE_EQ(*ParseSeconds("2h"), 7200);
  EXPECT_DOUBLE_EQ(*ParseSeconds("1d"), 86400);
}

TEST(ParseSeconds, RefusesWhatHasNoUnit) {
  for (const char* text : {"", "5", "s", "ms", "5 m s", "5ks", "5M", "fives"}) {
    const auto seconds = ParseSeconds(text);
    ASSERT_FALSE(seconds.ok()) << text;
    EXPECT_NE(seconds.status().message().find("write a number and its unit such as 850ns"),
              absl::string_view::npos)
        << text;
  }
}

// 8K is 8,000 to a physicist and 8,192 to a GPU.
TEST(ParseLength, RefusesWhatCouldMeanTwoNumbers) {
  EXPECT_EQ(*ParseLength("8192"), 8192);
  EXPECT_EQ(*ParseLength("8Ki"), 8192);
  EXPECT_EQ(*ParseLength("1Mi"), 1'048'576);
  EXPECT_EQ(*ParseLength("0.5Ki"), 512);
  EXPECT_EQ(*ParseLength("8e3"), 8000);
  EXPECT_EQ(*ParseLength("-1"), -1);  // for the server to refuse
  EXPECT_THAT(
      std::string(ParseLength("8K").status().message()),
      HasSubstr("\"8K\" could mean 8000 or 8192: write one of them, or 8Ki for the second"));
  EXPECT_THAT(std::string(ParseLength("4m").status().message()), HasSubstr("4000000 or 4194304"));
  for (const char* text : {"", "K", "8B", "1T", "8k i", "8KiB", "0.3Ki", "nan", "1e30K"}) {
    EXPECT_FALSE(ParseLength(text).ok()) << text;
  }
}

TEST(Sizes, AreReadAsLengths) {
  EXPECT_THAT(*ParseSizes("4x8x64"), ElementsAre(4, 8, 64));
  EXPECT_THAT(*ParseSizes("16Ki"), ElementsAre(16384));
  EXPECT_THAT(*ParseSizes("1e3x2"), ElementsAre(1000, 2));
  EXPECT_THAT(*ParseSizes("0x-1"), ElementsAre(0, -1));  // for the server to refuse
  EXPECT_THAT(*ParseSizes("9223372036854775807"), ElementsAre(INT64_MAX));
}

TEST(Sizes, SayWhatToWrite) {
  for (const char* text : {"", "x", "4x", "x4", "4xx8", "4,8", "4x8.5", "4 x 8", "nan", "4X8",
                           "9223372036854775808", "scalar"}) {
    const auto sizes = ParseSizes(text);
    ASSERT_FALSE(sizes.ok()) << text;
    EXPECT_THAT(std::string(sizes.status().message()), HasSubstr("join sizes by x: 4x8x64"))
        << text;
  }
}

TEST(Shape, MayBeThatOfAScalar) {
  EXPECT_THAT(*ParseShape("scalar"), IsEmpty());
  EXPECT_THAT(*ParseShape("4x8"), ElementsAre(4, 8));
  EXPECT_FALSE(ParseShape("").ok());
}

TEST(ElementCount, IsTheProduct) {
  EXPECT_EQ(*ElementCount({}), 1);
  EXPECT_EQ(*ElementCount({4, 8, 64}), 2048);
  EXPECT_EQ(*ElementCount({INT64_MAX}), INT64_MAX);
}

TEST(ElementCount, RefusesWhatIsNoCount) {
  EXPECT_THAT(std::string(ElementCount({4, 0}).status().message()),
              HasSubstr("write sizes of at least 1"));
  // The product of two negative sizes would be a count again.
  EXPECT_FALSE(ElementCount({-4, -8}).ok());
  EXPECT_THAT(std::string(ElementCount({int64_t{1} << 32, int64_t{1} << 31}).status().message()),
              HasSubstr("than fit in 64 bits"));
}

}  // namespace
}  // namespace sextant::client
