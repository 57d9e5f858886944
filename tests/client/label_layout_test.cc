#include "client/label_layout.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

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
  // Outside the page is no place.
  EXPECT_EQ(layout.Place({TextAt(950, 500), TextAt(500, 500)}).at.x, 500);
}

TEST(LabelLayout, FallsBackOnTheFirst) {
  LabelLayout layout(kPage);
  layout.Block(kPage);
  EXPECT_EQ(layout.Place({TextAt(100, 50), TextAt(100, 100)}).at.y, 50);
}

}  // namespace
}  // namespace sextant
