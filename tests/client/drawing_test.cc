// The parts that charts are drawn with: axes, a canvas of characters, and SVG.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "client/plot/canvas.h"
#include "client/plot/svg.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST(XmlEscaped, LeavesNothingThatIsMarkup) {
  EXPECT_EQ(XmlEscaped("a < b & c > \"d\" 'e'"),
            "a &lt; b &amp; c &gt; &quot;d&quot; &apos;e&apos;");
  EXPECT_EQ(XmlEscaped("µ ü ⣿"), "µ ü ⣿");
}

TEST(XmlEscaped, LeavesOutWhatXmlCantHold) {
  EXPECT_EQ(XmlEscaped("a\x1b[2J\nb"), "a?[2J b");
  EXPECT_EQ(XmlEscaped(absl::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(XmlEscaped("\xC2\x85"), "?");           // U+0085, a control character
  EXPECT_EQ(XmlEscaped("a\xFFz"), "a?z");           // not UTF-8
  EXPECT_EQ(XmlEscaped("\xEF\xBF\xBE!"), "?!");     // U+FFFE
  EXPECT_EQ(XmlEscaped("\xEF\xBF\xBF<"), "?&lt;");  // U+FFFF
}

TEST(SvgWriter, WritesWhatItIsGiven) {
  SvgWriter svg(800, 500);
  svg.Line({1, 2}, {3, 4}, {.color = "#123456", .width = 2, .dashes = "4 4"});
  svg.Text({.at = {5, 6},
            .text = "a<b",
            .size = 13,
            .anchor = SvgAnchor::kEnd,
            .degrees = -90,
            .bold = true});
  svg.Mark(SvgMark::kDisc, {7, 8}, "#0072b2");
  svg.Mark(SvgMark::kSquare, {7, 8}, "#d55e00");
  svg.Mark(SvgMark::kDot, {7, 8}, "#009e73", "a<b");
  const std::string document = svg.Document();
  EXPECT_THAT(document, HasSubstr("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "));
  EXPECT_THAT(document, HasSubstr("viewBox=\"0 0 800 500\""));
  EXPECT_THAT(document, HasSubstr("<line x1=\"1.0\" y1=\"2.0\" x2=\"3.0\" y2=\"4.0\" fill=\"none\" "
                                  "stroke=\"#123456\" stroke-width=\"2.0\" "
                                  "stroke-dasharray=\"4 4\"/>"));
  EXPECT_THAT(document, HasSubstr("<text x=\"5.0\" y=\"6.0\" font-size=\"13\" text-anchor=\"end\" "
                                  "fill=\"#222222\" font-weight=\"bold\" "
                                  "transform=\"rotate(-90.0 5.0 6.0)\">a&lt;b</text>"));
  EXPECT_THAT(document, HasSubstr("fill=\"#0072b2\""));
  EXPECT_THAT(document, HasSubstr("fill=\"#009e73\" stroke=\"#009e73\" stroke-width=\"2\">"
                                  "<title>a&lt;b</title></path>"));
  // A square is hollow, so that a disc in its middle shows.
  EXPECT_THAT(document, HasSubstr("fill=\"none\" stroke=\"#d55e00\""));
  EXPECT_EQ(document.substr(document.size() - 7), "</svg>\n");
}

TEST(SvgWriter, HatchesAreas) {
  SvgWriter svg(800, 500);
  svg.Rectangle({{1, 2}, 30, 40}, {"#56b4e9", SvgHatch::kNone});
  svg.Rectangle({{5, 6}, 70, 80}, {"#ffffff", SvgHatch::kDots});
  svg.Rectangle({{5, 6}, 70, 80}, {"#f0e442", SvgHatch::kDots});
  const std::string document = svg.Document();
  EXPECT_THAT(document, HasSubstr("<rect x=\"1.0\" y=\"2.0\" width=\"30.0\" height=\"40.0\" "
                                  "fill=\"#56b4e9\" stroke="));
  // The colour, and the hatching upon it, which is defined once, ahead of its use.
  const size_t pattern = document.find("<pattern id=\"hatch7\"");
  const size_t use = document.find("fill=\"url(#hatch7)\"");
  ASSERT_NE(pattern, std::string::npos);
  ASSERT_NE(use, std::string::npos);
  EXPECT_LT(pattern, use);
  EXPECT_EQ(document.find("<pattern id=\"hatch7\"", pattern + 1), std::string::npos);
  EXPECT_EQ(document.find("<pattern", pattern + 1), std::string::npos);
}

TEST(SvgWriter, EveryHatchIsAnother) {
  std::set<std::string> patterns;
  for (const SvgHatch hatch :
       {SvgHatch::kRising, SvgHatch::kFalling, SvgHatch::kCrossed, SvgHatch::kGrid,
        SvgHatch::kHorizontal, SvgHatch::kVertical, SvgHatch::kDots}) {
    SvgWriter svg(100, 100);
    svg.Rectangle({{0, 0}, 10, 10}, {"#ffffff", hatch});
    const std::string document = svg.Document();
    const size_t path = document.find("<path d=");
    ASSERT_NE(path, std::string::npos);
    patterns.insert(document.substr(path, document.find('>', path) - path));
  }
  EXPECT_EQ(patterns.size(), 7u);
}

constexpr Box kPage = {0, 0, 1000, 1000};

SvgText TextAt(double x, double y) { return {.at = {x, y}, .text = "ten letter", .size = 10}; }

TEST(Box, OverlapsWhatItShares) {
  const Box box = {0, 0, 10, 10};
  EXPECT_TRUE(box.Overlaps({5, 5, 15, 15}));
  EXPECT_TRUE(box.Overlaps({2, 2, 3, 3}));
  EXPECT_FALSE(box.Overlaps({10, 0, 20, 10}));  // they touch
  EXPECT_FALSE(box.Overlaps({0, 11, 10, 20}));
}

TEST(BoxOf, FollowsTheAnchor) {
  SvgText text = TextAt(100, 50);
  const Box start = BoxOf(text);
  EXPECT_DOUBLE_EQ(start.left, 100);
  EXPECT_DOUBLE_EQ(start.right, 162);
  EXPECT_DOUBLE_EQ(start.top, 42);
  EXPECT_DOUBLE_EQ(start.bottom, 52.5);
  text.anchor = SvgAnchor::kEnd;
  EXPECT_DOUBLE_EQ(BoxOf(text).right, 100);
  text.anchor = SvgAnchor::kMiddle;
  EXPECT_DOUBLE_EQ(BoxOf(text).left, 69);
}

TEST(BoxOf, HoldsATurnedText) {
  SvgText text = TextAt(100, 50);
  text.degrees = -90;  // it runs upwards
  const Box box = BoxOf(text);
  EXPECT_NEAR(box.top, 50 - 62, 1e-9);
  EXPECT_NEAR(box.bottom, 50, 1e-9);
  EXPECT_NEAR(box.left, 92, 1e-9);
  EXPECT_NEAR(box.right, 102.5, 1e-9);
}

TEST(LabelLayout, TakesTheFirstFreePlace) {
  LabelLayout layout(kPage);
  layout.Block({90, 40, 110, 60});
  EXPECT_EQ(layout.Place({TextAt(100, 50), TextAt(100, 100)}).at.y, 100);
  // That is taken now.
  EXPECT_EQ(layout.Place({TextAt(100, 50), TextAt(100, 100), TextAt(100, 150)}).at.y, 150);
  // A place outside the page is refused.
  EXPECT_EQ(layout.Place({TextAt(950, 500), TextAt(500, 500)}).at.x, 500);
}

TEST(LabelLayout, FallsBackOnTheFirst) {
  LabelLayout layout(kPage);
  layout.Block(kPage);
  EXPECT_EQ(layout.Place({TextAt(100, 50), TextAt(100, 100)}).at.y, 50);
}

}  // namespace
}  // namespace sextant::client
