// The parts that plots are drawn with: axes, characters, and SVG.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "client/plot/plot.h"
#include "client/plot/svg.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(PlotAxis, IsEvenInPowers) {
  const PlotAxis axis = {.low = 0.1, .high = 1000, .log = true};
  EXPECT_DOUBLE_EQ(axis.Fraction(0.1), 0);
  EXPECT_DOUBLE_EQ(axis.Fraction(10), 0.5);
  EXPECT_DOUBLE_EQ(axis.Fraction(1000), 1);
  EXPECT_DOUBLE_EQ(axis.Fraction(1e5), 1.5);
  EXPECT_DOUBLE_EQ((PlotAxis{.low = 10, .high = 30}).Fraction(15), 0.25);
}

// The powers that have a label, of an axis from 10^`low` to 10^`high`.
std::vector<std::string> LabelsOf(double low, double high, int most) {
  const PlotAxis axis = {.low = std::pow(10, low), .high = std::pow(10, high), .log = true};
  std::vector<std::string> labels;
  for (const PlotTick& tick : PowerTicks(axis, most)) {
    if (!tick.label.empty()) labels.push_back(tick.label);
  }
  return labels;
}

TEST(PowerTicks, HaveFewLabels) {
  EXPECT_THAT(LabelsOf(-1.2, 2.9, 9), ElementsAre("0.1", "1", "10", "100"));
  EXPECT_THAT(LabelsOf(-0.1, 10.1, 6), ElementsAre("1", "100", "10 k", "1 M", "100 M", "10 G"));
  EXPECT_THAT(LabelsOf(-0.1, 11.1, 6), ElementsAre("1", "1 k", "1 M", "1 G"));
  EXPECT_THAT(LabelsOf(0.2, 0.9, 6), SizeIs(0));
  for (double span = 0.5; span < 60; span += 0.25) {
    for (const int most : {2, 6, 9}) {
      EXPECT_LE(LabelsOf(-3.3, -3.3 + span, most).size(), static_cast<size_t>(most)) << span;
    }
  }
}

TEST(LinearTicks, AreBetweenTheEnds) {
  const auto labels = [](double low, double high, double unit) {
    std::vector<std::string> out;
    for (const PlotTick& tick : LinearTicks({.low = low, .high = high}, unit)) {
      EXPECT_GE(tick.at, low);
      EXPECT_LE(tick.at, high);
      out.push_back(tick.label);
    }
    return out;
  };
  EXPECT_THAT(labels(9.6, 20.4, 1), ElementsAre("10", "12", "14", "16", "18", "20"));
  EXPECT_THAT(labels(61, 64, 1), ElementsAre("61", "61.5", "62", "62.5", "63", "63.5", "64"));
  EXPECT_THAT(labels(0, 0.25, 1e-3), ElementsAre("0", "50", "100", "150", "200", "250"));
  EXPECT_THAT(labels(2000, 6500, 1), ElementsAre("2,000", "3,000", "4,000", "5,000", "6,000"));
}

TEST(PowerText, HasSiPrefixes) {
  const std::pair<int, const char*> cases[] = {
      {0, "1"},     {1, "10"},     {2, "100"},   {3, "1 k"},    {5, "100 k"}, {6, "1 M"},
      {12, "1 T"},  {14, "100 T"}, {15, "1 P"},  {20, "100 E"}, {21, "1e21"}, {-1, "0.1"},
      {-2, "0.01"}, {-3, "0.001"}, {-4, "1e-4"}, {-12, "1e-12"}};
  for (const auto& [power, text] : cases) EXPECT_EQ(PowerText(power), text) << power;
}

// The rows of a drawing of one character's height, without its margin.
std::string RowOf(const std::vector<PlotLine>& lines, const std::vector<PlotMark>& marks) {
  const std::string text = RenderText({.text_rows = 1, .lines = lines, .marks = marks});
  const std::string axis = "│";
  const size_t start = text.find(axis) + axis.size();
  return text.substr(start, text.find('\n', start) - start);
}

// 84 columns of two dots: the last is a fraction of 167/167.
TEST(RenderText, SetsTheDotsThatUnicodeNumbers) {
  const auto line = [](PlotPoint from, PlotPoint to) { return PlotLine{.points = {from, to}}; };
  EXPECT_EQ(RowOf({line({0, 1}, {0, 1})}, {}), "\u2801");
  EXPECT_EQ(RowOf({line({1.0 / 167, 0}, {1.0 / 167, 0})}, {}), "\u2880");
  EXPECT_EQ(RowOf({line({0, 0}, {3.0 / 167, 1})}, {}), "\u2860\u280A");
  // A point outside is drawn at the edge.
  EXPECT_EQ(RowOf({line({-1, 7}, {-1, 7})}, {}), "\u2801");
}

TEST(RenderText, PutsLettersSideBySide) {
  const auto mark = [](double x, const char* letter) {
    return PlotMark{.at = {x, 0}, .letter = letter};
  };
  EXPECT_EQ(RowOf({}, {mark(0, "F"), mark(0, "B")}), "FB");
  // At the right edge there is room to the left alone.
  EXPECT_EQ(RowOf({}, {mark(1, "F"), mark(1, "B"), mark(9, "A")}), std::string(81, ' ') + "ABF");
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

}  // namespace
}  // namespace sextant::client
