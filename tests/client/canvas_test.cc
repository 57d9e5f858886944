#include "client/plot/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(LogAxis, IsEvenInPowers) {
  const LogAxis axis = {.low = -1, .high = 3};
  EXPECT_DOUBLE_EQ(axis.Fraction(0.1), 0);
  EXPECT_DOUBLE_EQ(axis.Fraction(10), 0.5);
  EXPECT_DOUBLE_EQ(axis.Fraction(1000), 1);
  EXPECT_DOUBLE_EQ(axis.Fraction(1e5), 1.5);
  EXPECT_DOUBLE_EQ(axis.ValueAt(0.25), 1);
}

TEST(LogAxis, HasFewTicks) {
  EXPECT_THAT((LogAxis{.low = -1.2, .high = 2.9}).Ticks(9), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT((LogAxis{.low = 0, .high = 10}).Ticks(6), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT((LogAxis{.low = 0, .high = 11}).Ticks(6), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT((LogAxis{.low = 0.2, .high = 0.9}).Ticks(6), SizeIs(0));
  for (double span = 0.5; span < 60; span += 0.25) {
    for (const int most : {2, 6, 9}) {
      const LogAxis axis = {.low = -3.3, .high = -3.3 + span};
      EXPECT_LE(axis.Ticks(most).size(), static_cast<size_t>(most)) << span;
    }
  }
}

TEST(LinearAxis, HasTicksBetweenItsEnds) {
  EXPECT_DOUBLE_EQ((LinearAxis{.low = 10, .high = 30}).Fraction(15), 0.25);
  EXPECT_THAT((LinearAxis{.low = 9.6, .high = 20.4}).Ticks(), ElementsAre(10, 12, 14, 16, 18, 20));
  EXPECT_THAT((LinearAxis{.low = 61, .high = 64}).Ticks(),
              ElementsAre(61, 61.5, 62, 62.5, 63, 63.5, 64));
  EXPECT_THAT((LinearAxis{.low = 2e9, .high = 6.5e9}).Ticks(),
              ElementsAre(2e9, 3e9, 4e9, 5e9, 6e9));
}

TEST(PowerText, HasSiPrefixes) {
  const std::pair<int, const char*> cases[] = {
      {0, "1"},     {1, "10"},     {2, "100"},   {3, "1 k"},    {5, "100 k"}, {6, "1 M"},
      {12, "1 T"},  {14, "100 T"}, {15, "1 P"},  {20, "100 E"}, {21, "1e21"}, {-1, "0.1"},
      {-2, "0.01"}, {-3, "0.001"}, {-4, "1e-4"}, {-12, "1e-12"}};
  for (const auto& [power, text] : cases) EXPECT_EQ(PowerText(power), text) << power;
}

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
}  // namespace sextant::client
