#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "client/flags/words.h"
#include "tests/client/fixture.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Expects `parse` to read the texts of a table of cases, and to refuse those of another with words.
void ExpectRead(absl::StatusOr<int64_t> (*parse)(absl::string_view), const std::string& table) {
  for (const nlohmann::json& c : CasesOf(table)) {
    const absl::StatusOr<int64_t> read = parse(TextIn(c, "text"));
    ASSERT_TRUE(read.ok()) << c << ": " << read.status();
    EXPECT_EQ(*read, c.at("value").get<int64_t>()) << c;
  }
}
void ExpectRefused(absl::StatusOr<int64_t> (*parse)(absl::string_view), const std::string& table) {
  for (const nlohmann::json& c : CasesOf(table)) {
    const absl::StatusOr<int64_t> read = parse(TextIn(c, "text"));
    ASSERT_FALSE(read.ok()) << c << " read as " << *read;
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << c;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(TextIn(c, "says"))) << c;
  }
}

TEST(ParseCount, ReadsWhatPeopleWriteOrSaysWhatToWrite) {
  ExpectRead(ParseCount, "count");
  ExpectRefused(ParseCount, "count refused");
}

TEST(ParseByteCount, KeepsBinaryAndDecimalApart) { ExpectRead(ParseByteCount, "bytes"); }

TEST(ParseByteCount, RefusesWhatCouldMeanTwoThings) {
  for (const char* text : {"80G", "80T", "15K", "80gb", "80Gb", "0.3KiB", "9000PiB", "", "nan"}) {
    const absl::StatusOr<int64_t> bytes = ParseByteCount(text);
    ASSERT_FALSE(bytes.ok()) << text << " read as " << *bytes;
    EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(std::string(ParseByteCount("80G").status().message()),
              HasSubstr("80GiB (2^30 each) or 80GB (1e9 each)"));
}

TEST(ParseNanoseconds, ReadsATimeWithItsUnitOrSaysWhatToWrite) {
  ExpectRead(ParseNanoseconds, "nanoseconds");
  ExpectRefused(ParseNanoseconds, "nanoseconds refused");
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
