// SVG documents: lines, areas, marks and text on white, and a layout that places texts where they
// cover nothing. Coordinates are pixels.
#ifndef SEXTANT_CLIENT_PLOT_SVG_H_
#define SEXTANT_CLIENT_PLOT_SVG_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/plot/plot.h"

namespace sextant::client {

enum class SvgAnchor { kStart, kMiddle, kEnd };

struct SvgText {
  PlotPoint at = {};  // on the baseline
  std::string text = {};
  double size = 12;
  SvgAnchor anchor = SvgAnchor::kStart;
  double degrees = 0;  // rotation about `at`, clockwise
  bool bold = false;
  const char* color = "#222222";
};

// A rectangle, upright.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  bool Overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class SvgWriter {
 public:
  void Line(const PlotPoint& from, const PlotPoint& to, const Stroke& stroke);
  // A rectangle with a thin outline.
  void Rectangle(const Box& box, const Fill& fill);
  void Text(const SvgText& text);
  // Viewers show `tooltip` where the mouse is over the mark; "" for none.
  void Mark(Shape shape, const PlotPoint& at, const char* color, const std::string& tooltip = "");
  // An interval: a level line with a cap at both ends, or with an arrow at the right where it goes
  // on beyond the drawing. It is on white, or hatching would hide it.
  void Whisker(const PlotEnds& x, double y, bool goes_on = false);

  // The whole document.
  std::string Document(double width, double height) const;

 private:
  std::set<Hatch> hatches_;  // used by areas
  std::string body_;
};

// `text` escaped for XML; '?' for characters that XML can't hold.
std::string XmlEscaped(absl::string_view text);

// The width of a text; the letters are taken to be at least as wide as the mean letter of the usual
// sans-serif fonts.
double WidthOf(const std::string& text, double size = 12);

// A box that holds all of a text as it is rotated.
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

inline constexpr double kSvgWidth = 900;

// The lines of a text, of up to `width` characters.
std::vector<std::string> SvgLines(const std::string& text, size_t width);

// Draws what is below the axes of a plot, from the baseline and the left edge `at` on: keys,
// tables, notes and sources. Returns the baseline below it.
double DrawSvgLegend(const Plot& plot, const PlotPoint& at, SvgWriter& svg);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_SVG_H_
