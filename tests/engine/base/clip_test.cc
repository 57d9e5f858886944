#include "engine/base/clip.h"

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

}  // namespace
}  // namespace sextant
