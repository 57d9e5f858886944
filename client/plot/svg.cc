#include "client/plot/svg.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/io/text_file.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kMarkSize = 7;  // from a mark's middle to its edge

constexpr const char* kAnchorNames[] = {"start", "middle", "end"};

std::string StrokeText(const Stroke& stroke) {
  const std::string dashes =
      *stroke.dashes == '\0' ? "" : absl::StrCat(" stroke-dasharray=\"", stroke.dashes, "\"");
  return absl::StrFormat("fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"%s", stroke.color,
                         stroke.width, dashes);
}

// A mark's outline, as the data of a path.
std::string MarkPath(Shape mark, const PlotPoint& at) {
  const double s = kMarkSize;
  switch (mark) {
    case Shape::kNone:
    case Shape::kDisc:
    case Shape::kDot:
      break;
    case Shape::kSquare:
      return absl::StrFormat("M%.1f %.1fh%.1fv%.1fh%.1fz", at.x - s, at.y - s, 2 * s, 2 * s,
                             -2 * s);
    case Shape::kTriangle:
      return absl::StrFormat("M%.1f %.1fl%.1f %.1fh%.1fz", at.x, at.y - 1.3 * s, 1.2 * s, 2.2 * s,
                             -2.4 * s);
    case Shape::kCross:
      return absl::StrFormat("M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f", at.x - s, at.y - s, 2 * s,
                             2 * s, -2 * s, -2 * s, 2 * s);
  }
  const double r = (mark == Shape::kDot ? 0.2 : 0.6) * s;
  return absl::StrFormat("M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", at.x - r,
                         at.y, r, r, 2 * r, r, r, -2 * r);
}

// By hatch: the content of a <pattern> of kTile pixels a side that repeats it.
constexpr double kTile = 8;
constexpr const char* kTilePaths[] = {"",
                                      "M-2 2l4 -4M0 8l8 -8M6 10l4 -4",
                                      "M-2 6l4 4M0 0l8 8M6 -2l4 4",
                                      "M0 8l8 -8M0 0l8 8",
                                      "M0 4h8M4 0v8",
                                      "M0 2h8M0 6h8",
                                      "M2 0v8M6 0v8",
                                      "M1.2 2h1.6M5.2 6h1.6"};

std::string HatchId(Hatch hatch) { return absl::StrCat("hatch", static_cast<int>(hatch)); }

std::string HatchPattern(Hatch hatch) {
  return absl::StrFormat(
      "<pattern id=\"%s\" width=\"%.0f\" height=\"%.0f\" patternUnits=\"userSpaceOnUse\">"
      "<path d=\"%s\" fill=\"none\" stroke=\"#222222\" stroke-width=\"%.1f\"/></pattern>\n",
      HatchId(hatch), kTile, kTile, kTilePaths[static_cast<int>(hatch)],
      hatch == Hatch::kDots ? 1.6 : 0.9);
}

// Shares of a letter's size.
constexpr double kAscent = 0.8;
constexpr double kDescent = 0.25;

}  // namespace

void SvgWriter::Line(const PlotPoint& from, const PlotPoint& to, const Stroke& stroke) {
  absl::StrAppendFormat(&body_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n",
                        from.x, from.y, to.x, to.y, StrokeText(stroke));
}

void SvgWriter::Rectangle(const Box& box, const Fill& fill) {
  const std::string place =
      absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", box.left,
                      box.top, box.right - box.left, box.bottom - box.top);
  absl::StrAppend(&body_, place, " fill=\"", fill.color,
                  "\" stroke=\"#222222\" stroke-width=\"0.6\"/>\n");
  if (fill.hatch == Hatch::kNone) return;
  hatches_.insert(fill.hatch);
  absl::StrAppend(&body_, place, " fill=\"url(#", HatchId(fill.hatch), ")\"/>\n");
}

void SvgWriter::Text(const SvgText& text) {
  if (text.text.empty()) return;
  const std::string turn = text.degrees == 0
                               ? ""
                               : absl::StrFormat(" transform=\"rotate(%.1f %.1f %.1f)\"",
                                                 text.degrees, text.at.x, text.at.y);
  absl::StrAppendFormat(
      &body_,
      "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" fill=\"%s\"%s%s>%s"
      "</text>\n",
      text.at.x, text.at.y, text.size, kAnchorNames[static_cast<int>(text.anchor)], text.color,
      text.bold ? " font-weight=\"bold\"" : "", turn, XmlEscaped(text.text));
}

void SvgWriter::Mark(Shape mark, const PlotPoint& at, const char* color,
                     const std::string& tooltip) {
  if (mark == Shape::kNone) return;
  const bool filled = mark == Shape::kDisc || mark == Shape::kDot;
  absl::StrAppendFormat(&body_, "<path d=\"%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"",
                        MarkPath(mark, at), filled ? color : "none", color);
  if (tooltip.empty()) {
    absl::StrAppend(&body_, "/>\n");
  } else {
    absl::StrAppend(&body_, "><title>", XmlEscaped(tooltip), "</title></path>\n");
  }
}

void SvgWriter::Whisker(const PlotEnds& x, double y, bool goes_on) {
  constexpr Stroke kGround = {"#ffffff", 3, ""};
  constexpr Stroke kInk = {"#000000", 1.4, ""};
  constexpr double kCap = 4;
  Line({x.low, y}, {x.high, y}, kGround);
  Line({x.low, y}, {x.high, y}, kInk);
  Line({x.low, y - kCap}, {x.low, y + kCap}, kInk);
  if (!goes_on) return Line({x.high, y - kCap}, {x.high, y + kCap}, kInk);
  for (const double side : {-kCap, kCap}) Line({x.high - 2 * kCap, y + side}, {x.high, y}, kInk);
}

std::string SvgWriter::Document(double width, double height) const {
  std::string out = absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  if (!hatches_.empty()) out += "<defs>\n";
  for (const Hatch hatch : hatches_) out += HatchPattern(hatch);
  if (!hatches_.empty()) out += "</defs>\n";
  return absl::StrCat(out, body_, "</svg>\n");
}

std::string XmlEscaped(absl::string_view text) {
  std::string out = Printable(OneLine(std::string(text)));
  if (!IsUtf8(out)) {
    for (char& c : out) c = (c & 0x80) == 0 ? c : '?';
  }
  // XML excludes U+FFFE and U+FFFF.
  return absl::StrReplaceAll(out, {{"&", "&amp;"},
                                   {"<", "&lt;"},
                                   {">", "&gt;"},
                                   {"\"", "&quot;"},
                                   {"'", "&apos;"},
                                   {"\xEF\xBF\xBE", "?"},
                                   {"\xEF\xBF\xBF", "?"}});
}

double WidthOf(const std::string& text, double size) {
  // Share of a letter's size: digits of DejaVu Sans, a wide font, take 0.64; small letters about
  // 0.6.
  constexpr double kLetterWidth = 0.62;
  return kLetterWidth * size * static_cast<double>(DisplayWidth(text));
}

Box BoxOf(const SvgText& text) {
  const double width = WidthOf(text.text, text.size);
  const double start = text.anchor == SvgAnchor::kStart    ? 0
                       : text.anchor == SvgAnchor::kMiddle ? -width / 2
                                                           : -width;
  const double radians = text.degrees * M_PI / 180;
  Box box = {HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (const double along : {start, start + width}) {
    for (const double down : {-kAscent * text.size, kDescent * text.size}) {
      const double x = text.at.x + along * std::cos(radians) - down * std::sin(radians);
      const double y = text.at.y + along * std::sin(radians) + down * std::cos(radians);
      box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x),
             std::max(box.bottom, y)};
    }
  }
  return box;
}

bool LabelLayout::IsFree(const Box& box) const {
  const bool inside = box.left >= area_.left && box.right <= area_.right && box.top >= area_.top &&
                      box.bottom <= area_.bottom;
  return inside && std::none_of(taken_.begin(), taken_.end(),
                                [&box](const Box& taken) { return box.Overlaps(taken); });
}

const SvgText& LabelLayout::Place(const std::vector<SvgText>& candidates) {
  const auto free = std::find_if(candidates.begin(), candidates.end(),
                                 [this](const SvgText& text) { return IsFree(BoxOf(text)); });
  const SvgText& placed = free == candidates.end() ? candidates.front() : *free;
  Block(BoxOf(placed));
  return placed;
}

}  // namespace sextant::client
