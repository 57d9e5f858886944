#include "client/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Sizes, AreReadAsCounts) {
  EXPECT_THAT(*ParseSizes("4x8x64"), ElementsAre(4, 8, 64));
  EXPECT_THAT(*ParseSizes("16K"), ElementsAre(16000));
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

TEST(SizesText, IsAList) {
  EXPECT_EQ(SizesText({4, 8}), "[4, 8]");
  EXPECT_EQ(SizesText({}), "[]");
}

}  // namespace
}  // namespace sextant
