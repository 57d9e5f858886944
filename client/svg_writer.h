// A small SVG document: lines, areas, marks and text on white.
#ifndef SEXTANT_CLIENT_SVG_WRITER_H_
#define SEXTANT_CLIENT_SVG_WRITER_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// In pixels from the left and from the top.
struct SvgPoint {
  double x = 0;
  double y = 0;
};

struct SvgStroke {
  const char* color = "#222222";
  double width = 1;
  const char* dashes = "";  // as stroke-dasharray has them; "" for a whole line
};

enum class SvgAnchor { kStart, kMiddle, kEnd };

struct SvgText {
  SvgPoint at = {};  // on the baseline
  std::string text = {};
  double size = 12;
  SvgAnchor anchor = SvgAnchor::kStart;
  double degrees = 0;  // turned about `at`, clockwise
  bool bold = false;
  const char* color = "#222222";
};

// What a point is drawn as: each tells from the others without colour, and where two lie upon
// each other both can be seen.
enum class SvgMark { kDisc, kSquare, kTriangle, kCross };

// What an area is filled with beside its colour: each tells from the others without it.
enum class SvgHatch { kNone, kRising, kFalling, kCrossed, kGrid, kHorizontal, kVertical, kDots };

struct SvgFill {
  const char* color = "#ffffff";
  SvgHatch hatch = SvgHatch::kNone;
};

struct SvgArea {
  SvgPoint at = {};  // its corner at the left and top
  double width = 0;
  double height = 0;
};

class SvgWriter {
 public:
  SvgWriter(double width, double height);

  void Line(const SvgPoint& from, const SvgPoint& to, const SvgStroke& stroke);
  // With a thin outline.
  void Rectangle(const SvgArea& area, const SvgFill& fill);
  void Text(const SvgText& text);
  void Mark(SvgMark mark, const SvgPoint& at, const char* color);

  // The whole document.
  std::string Document() const;

 private:
  std::string head_;
  std::set<SvgHatch> hatches_;  // that areas use
  std::string body_;
};

// `text` as XML holds it: markup escaped, '?' for what it can't hold.
std::string XmlEscaped(absl::string_view text);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_SVG_WRITER_H_
