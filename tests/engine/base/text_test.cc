#include "engine/base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace sextant {
namespace {

TEST(Clip, LeavesShortTextAlone) {
  EXPECT_EQ(Clip("", 5), "");
  EXPECT_EQ(Clip("12345", 5), "12345");
}

TEST(Clip, MarksWhatItCuts) { EXPECT_EQ(Clip("123456", 5), "12..."); }

// "a" and then 2-byte characters: a cut in the middle of one moves to its start.
TEST(Clip, NeverSplitsACharacter) {
  const std::string text = "a\u00e9\u00e9\u00e9\u00e9";  // 9 bytes
  EXPECT_EQ(Clip(text, 8), "a\u00e9\u00e9...");          // 5 + 3
  EXPECT_EQ(Clip(text, 7), "a\u00e9...");                // 4 would split one
}

TEST(Clip, SurvivesTextOfContinuationBytesAlone) {
  EXPECT_EQ(Clip(std::string(10, '\x80'), 5), "...");
}

// `date -u -d @SECONDS` gives the same.
TEST(UtcText, IsIso8601) {
  EXPECT_EQ(UtcText(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(UtcText(951'782'399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(UtcText(951'782'400), "2000-02-29T00:00:00Z");  // a leap year, unlike 2100
  EXPECT_EQ(UtcText(4'107'542'400), "2100-03-01T00:00:00Z");
  EXPECT_EQ(UtcText(253'402'300'799), "9999-12-31T23:59:59Z");
  EXPECT_EQ(UtcText(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace sextant
