// SVG documents: lines, areas, marks and text on white, and a layout that places texts where they
// cover nothing.
#ifndef SEXTANT_CLIENT_PLOT_SVG_H_
#define SEXTANT_CLIENT_PLOT_SVG_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant::client {

// Pixels from the left and from the top.
struct SvgPoint {
  double x = 0;
  double y = 0;
};

struct SvgStroke {
  const char* color = "#222222";
  double width = 1;
  const char* dashes = "";  // a stroke-dasharray; "" for a solid line
};

enum class SvgAnchor { kStart, kMiddle, kEnd };

struct SvgText {
  SvgPoint at = {};  // on the baseline
  std::string text = {};
  double size = 12;
  SvgAnchor anchor = SvgAnchor::kStart;
  double degrees = 0;  // rotation about `at`, clockwise
  bool bold = false;
  const char* color = "#222222";
};

// The mark of a point. Marks differ without colour, and of two that overlap both can be seen.
enum class SvgMark { kDisc, kSquare, kTriangle, kCross, kDot };

// The hatching of an area, in addition to its colour: hatches differ without colour.
enum class SvgHatch { kNone, kRising, kFalling, kCrossed, kGrid, kHorizontal, kVertical, kDots };

struct SvgFill {
  const char* color = "#ffffff";
  SvgHatch hatch = SvgHatch::kNone;
};

// How a whisker ends: at the interval's end, or where the drawing ends and the interval goes on.
enum class SvgEnd { kCap, kArrow };

struct SvgArea {
  SvgPoint at = {};  // its corner at the left and top
  double width = 0;
  double height = 0;
};

class SvgWriter {
 public:
  SvgWriter(double width, double height);

  void Line(const SvgPoint& from, const SvgPoint& to, const SvgStroke& stroke);
  // A rectangle with a thin outline.
  void Rectangle(const SvgArea& area, const SvgFill& fill);
  void Text(const SvgText& text);
  // Viewers show `tooltip` where the mouse is over the mark; "" for none.
  void Mark(SvgMark mark, const SvgPoint& at, const char* color, const std::string& tooltip = "");
  // An interval: a horizontal line from `low`, with a cap, to `high`. It is on white, or hatching
  // would hide it.
  void Whisker(double low, double high, double y, SvgEnd end = SvgEnd::kCap);

  // The whole document.
  std::string Document() const;

 private:
  std::string head_;
  std::set<SvgHatch> hatches_;  // used by areas
  std::string body_;
};

// `text` escaped for XML; '?' for characters that XML can't hold.
std::string XmlEscaped(absl::string_view text);

// `text`, or as much of it as fits into `width` characters with "..." at its end.
std::string CutTo(size_t width, const std::string& text);

// A rectangle in pixels, upright.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  bool Overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// A box that holds all of a text as it is rotated. Letters are taken to be at least as wide as the
// mean letter of the usual sans-serif fonts.
Box BoxOf(const SvgText& text);

class LabelLayout {
 public:
  // Texts have to stay within `area`.
  explicit LabelLayout(const Box& area) : area_(area) {}

  // Keeps texts out of `box`.
  void Block(const Box& box) { taken_.push_back(box); }

  // Returns the first free of `candidates`, of which there is at least one, or else the first; its
  // place is taken from now on.
  const SvgText& Place(const std::vector<SvgText>& candidates);

 private:
  bool IsFree(const Box& box) const;

  Box area_;
  std::vector<Box> taken_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_SVG_H_
