#include "client/svg_writer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/format.h"
#include "client/text_file.h"

namespace sextant {
namespace {

constexpr double kMarkSize = 7;  // from a mark's middle to its edge

const char* AnchorName(SvgAnchor anchor) {
  switch (anchor) {
    case SvgAnchor::kStart:
      return "start";
    case SvgAnchor::kMiddle:
      return "middle";
    case SvgAnchor::kEnd:
      break;
  }
  return "end";
}

std::string StrokeText(const SvgStroke& stroke) {
  const std::string dashes =
      *stroke.dashes == '\0' ? "" : absl::StrCat(" stroke-dasharray=\"", stroke.dashes, "\"");
  return absl::StrFormat("fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"%s", stroke.color,
                         stroke.width, dashes);
}

// A mark's outline, as the data of a path.
std::string MarkPath(SvgMark mark, const SvgPoint& at) {
  const double s = kMarkSize;
  switch (mark) {
    case SvgMark::kDisc:
      break;
    case SvgMark::kSquare:
      return absl::StrFormat("M%.1f %.1fh%.1fv%.1fh%.1fz", at.x - s, at.y - s, 2 * s, 2 * s,
                             -2 * s);
    case SvgMark::kTriangle:
      return absl::StrFormat("M%.1f %.1fl%.1f %.1fh%.1fz", at.x, at.y - 1.3 * s, 1.2 * s, 2.2 * s,
                             -2.4 * s);
    case SvgMark::kCross:
      return absl::StrFormat("M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f", at.x - s, at.y - s, 2 * s,
                             2 * s, -2 * s, -2 * s, 2 * s);
  }
  const double r = 0.6 * s;
  return absl::StrFormat("M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", at.x - r,
                         at.y, r, r, 2 * r, r, r, -2 * r);
}

}  // namespace

SvgWriter::SvgWriter(double width, double height) {
  body_ = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
}

void SvgWriter::Line(const SvgPoint& from, const SvgPoint& to, const SvgStroke& stroke) {
  absl::StrAppendFormat(&body_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n",
                        from.x, from.y, to.x, to.y, StrokeText(stroke));
}

void SvgWriter::Text(const SvgText& text) {
  const std::string turn = text.degrees == 0
                               ? ""
                               : absl::StrFormat(" transform=\"rotate(%.1f %.1f %.1f)\"",
                                                 text.degrees, text.at.x, text.at.y);
  absl::StrAppendFormat(
      &body_,
      "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" fill=\"%s\"%s%s>%s"
      "</text>\n",
      text.at.x, text.at.y, text.size, AnchorName(text.anchor), text.color,
      text.bold ? " font-weight=\"bold\"" : "", turn, XmlEscaped(text.text));
}

void SvgWriter::Mark(SvgMark mark, const SvgPoint& at, const char* color) {
  absl::StrAppendFormat(&body_, "<path d=\"%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"/>\n",
                        MarkPath(mark, at), mark == SvgMark::kDisc ? color : "none", color);
}

std::string SvgWriter::Document() const {
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", body_, "</svg>\n");
}

std::string XmlEscaped(absl::string_view text) {
  std::string out = Printable(OneLine(std::string(text)));
  if (!IsUtf8(out)) {
    for (char& c : out) c = (c & 0x80) == 0 ? c : '?';
  }
  // U+FFFE and U+FFFF are no characters of XML.
  return absl::StrReplaceAll(out, {{"&", "&amp;"},
                                   {"<", "&lt;"},
                                   {">", "&gt;"},
                                   {"\"", "&quot;"},
                                   {"'", "&apos;"},
                                   {"\xEF\xBF\xBE", "?"},
                                   {"\xEF\xBF\xBF", "?"}});
}

}  // namespace sextant
