#include "client/braille_canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sextant {
namespace {

using ::testing::ElementsAre;

TEST(BrailleCanvas, SetsTheDotsThatUnicodeNumbers) {
  BrailleCanvas canvas(2, 1);
  EXPECT_THAT(canvas.Rows(), ElementsAre("  "));
  canvas.Dot(0, 0);
  EXPECT_THAT(canvas.Rows(), ElementsAre("\u2801 "));
  canvas.Dot(1, 3);
  EXPECT_THAT(canvas.Rows(), ElementsAre("\u2881 "));
  for (int x = 0; x < 2; ++x) {
    for (int y = 0; y < 4; ++y) canvas.Dot(x, y);
  }
  canvas.Dot(2, 3);
  EXPECT_THAT(canvas.Rows(), ElementsAre("\u28FF\u2840"));
}

TEST(BrailleCanvas, LeavesOutWhatIsOutside) {
  BrailleCanvas canvas(1, 1);
  canvas.Dot(-1, 0);
  canvas.Dot(0, -1);
  canvas.Dot(2, 0);
  canvas.Dot(0, 4);
  EXPECT_THAT(canvas.Rows(), ElementsAre(" "));
  canvas.Line(-4, 0, 5, 0);
  EXPECT_THAT(canvas.Rows(), ElementsAre("\u2809"));
}

TEST(BrailleCanvas, DrawsLinesWithBothEnds) {
  BrailleCanvas canvas(2, 1);
  canvas.Line(0, 3, 3, 0);
  EXPECT_THAT(canvas.Rows(), ElementsAre("\u2860\u280A"));
  BrailleCanvas dot(1, 1);
  dot.Line(1, 1, 1, 1);
  EXPECT_THAT(dot.Rows(), ElementsAre("\u2810"));
}

TEST(BrailleCanvas, PutsLettersSideBySide) {
  BrailleCanvas canvas(4, 2);
  canvas.Line(0, 0, 7, 0);
  canvas.Letter(1, 0, 'F');
  canvas.Letter(1, 0, 'B');
  EXPECT_THAT(canvas.Rows(), ElementsAre("\u2809FB\u2809", "    "));
  // At the right edge there is room to the left alone.
  canvas.Letter(3, 1, 'F');
  canvas.Letter(3, 1, 'B');
  canvas.Letter(9, 9, 'A');  // clipped to the last cell
  EXPECT_THAT(canvas.Rows()[1], " ABF");
}

}  // namespace
}  // namespace sextant
