// A roofline as an SVG document.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/plot/canvas.h"
#include "client/plot/pictures.h"
#include "client/plot/roofline_chart.h"
#include "client/plot/svg.h"
#include "client/text/amounts.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kRooflineWidth = 800;
constexpr Box kArea = {92, 48, 780, 352};    // what the axes enclose
constexpr Box kLabels = {92, 36, 780, 352};  // where labels may be: up to the title
constexpr double kRooflineLegendTop = 418;
constexpr double kRooflineLegendLine = 19;
constexpr double kRooflineSourceLine = 15;
constexpr double kLabelSize = 12;

constexpr SvgStroke kRooflineFrame = {"#222222", 1.2, ""};
constexpr SvgStroke kRooflineGrid = {"#e2e2e2", 1, ""};
constexpr SvgStroke kRoofLine = {"#222222", 2.4, ""};
constexpr SvgStroke kLowerRoofLine = {"#777777", 2, ""};
constexpr SvgStroke kRidgeLine = {"#555555", 1.2, "4 4"};
constexpr char kRooflineSourceColor[] = "#555555";

struct MarkStyle {
  SvgMark mark;
  const char* color;
};

// Colours that colour-blind readers tell apart (Okabe, Ito 2008).
MarkStyle StyleOf(const ChartPoint& point) {
  switch (point.letter) {
    case 'F':
      return {SvgMark::kDisc, "#0072b2"};
    case 'B':
      return {SvgMark::kSquare, "#d55e00"};
    case 'U':
      return {SvgMark::kTriangle, "#009e73"};
    default:
      return {SvgMark::kCross, "#8e3a80"};
  }
}

// The lines below the chart.
std::vector<std::string> SourceLines(const RooflineChart& chart) {
  std::string text;
  for (const std::string& absent : chart.absent) text += Wrap("", absent, 2);
  for (const std::string& source : chart.sources) text += Wrap("", source, 2);
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

class RooflineDrawing {
 public:
  explicit RooflineDrawing(const RooflineChart& chart)
      : chart_(chart),
        axes_(AxesOf(chart)),
        sources_(SourceLines(chart)),
        svg_(kRooflineWidth, Height()),
        layout_(kLabels) {}

  std::string Document() {
    DrawAxes();
    DrawRoofs();
    DrawPoints();
    DrawLegend();
    return svg_.Document();
  }

 private:
  double Height() const {
    return kRooflineLegendTop + kRooflineLegendLine * static_cast<double>(chart_.points.size()) +
           kRooflineSourceLine * static_cast<double>(sources_.size());
  }

  double X(double intensity) const {
    return kArea.left + axes_.intensity.Fraction(intensity) * (kArea.right - kArea.left);
  }
  double Y(double flops_per_second) const {
    return kArea.bottom -
           axes_.flops_per_second.Fraction(flops_per_second) * (kArea.bottom - kArea.top);
  }

  void DrawAxes() {
    svg_.Text({.at = {kArea.left, 29}, .text = chart_.title, .size = 16, .bold = true});
    for (const int power : axes_.intensity.Ticks(9)) {
      const double x = X(std::pow(10.0, power));
      svg_.Line({x, kArea.top}, {x, kArea.bottom}, kRooflineGrid);
      svg_.Text(
          {.at = {x, kArea.bottom + 18}, .text = PowerText(power), .anchor = SvgAnchor::kMiddle});
    }
    for (const int power : axes_.flops_per_second.Ticks(9)) {
      const double y = Y(std::pow(10.0, power));
      svg_.Line({kArea.left, y}, {kArea.right, y}, kRooflineGrid);
      svg_.Text(
          {.at = {kArea.left - 8, y + 4}, .text = PowerText(power), .anchor = SvgAnchor::kEnd});
    }
    svg_.Line({kArea.left, kArea.top}, {kArea.left, kArea.bottom}, kRooflineFrame);
    svg_.Line({kArea.left, kArea.bottom}, {kArea.right, kArea.bottom}, kRooflineFrame);
    const double middle = (kArea.left + kArea.right) / 2;
    svg_.Text({.at = {middle, kArea.bottom + 40},
               .text = "arithmetic intensity (FLOP/byte)",
               .size = 13,
               .anchor = SvgAnchor::kMiddle});
    svg_.Text({.at = {24, (kArea.top + kArea.bottom) / 2},
               .text = "attained (FLOP/s)",
               .size = 13,
               .anchor = SvgAnchor::kMiddle,
               .degrees = -90});
  }

  // Draws lines first, so that labels can avoid all of them.
  void DrawRoofs() {
    for (const ChartPoint& point : chart_.points) BlockAround(PlaceOf(point));
    const SvgPoint top = {X(chart_.ridge), Y(chart_.memory_bytes_per_second * chart_.ridge)};
    svg_.Line(top, {top.x, kArea.bottom}, kRidgeLine);
    for (size_t i = chart_.roofs.size(); i-- > 0;) {
      DrawRoof(chart_.roofs[i], i == 0 ? kRoofLine : kLowerRoofLine);
    }
    LabelSlope();
    for (const Roof& roof : chart_.roofs) LabelRoof(roof);
    LabelRidge(top.x);
  }

  void DrawRoof(const Roof& roof, const SvgStroke& stroke) {
    const SvgPoint corner = CornerOf(roof);
    svg_.Line(SlopeStart(), corner, stroke);
    svg_.Line(corner, {kArea.right, corner.y}, stroke);
    layout_.Block({corner.x, corner.y - 2, kArea.right, corner.y + 2});
  }

  // The end of the slope.
  SvgPoint CornerOf(const Roof& roof) const {
    return {X(roof.flops_per_second / chart_.memory_bytes_per_second), Y(roof.flops_per_second)};
  }

  // The point where the slope enters the chart, at its left.
  SvgPoint SlopeStart() const {
    const double left = axes_.intensity.ValueAt(0);
    return {kArea.left, Y(chart_.memory_bytes_per_second * left)};
  }

  void LabelRoof(const Roof& roof) {
    const SvgPoint corner = CornerOf(roof);
    const std::string text = absl::StrCat(roof.name, " ", Scaled(roof.flops_per_second, "FLOP/s"));
    std::vector<SvgText> candidates;
    for (const double part : {1.0, 0.7, 0.4}) {
      for (const double down : {-7.0, 17.0, 34.0, 51.0, 75.0, 95.0, 115.0}) {
        const double x = corner.x + part * (kArea.right - corner.x) - 6;
        candidates.push_back({.at = {x, corner.y + down},
                              .text = text,
                              .size = kLabelSize,
                              .anchor = SvgAnchor::kEnd});
      }
    }
    svg_.Text(layout_.Place(candidates));
  }

  // Puts the label along the slope, above it.
  void LabelSlope() {
    const SvgPoint start = SlopeStart();
    const SvgPoint end = CornerOf(*std::max_element(
        chart_.roofs.begin(), chart_.roofs.end(),
        [](const Roof& a, const Roof& b) { return a.flops_per_second < b.flops_per_second; }));
    const double angle = std::atan2(end.y - start.y, end.x - start.x);
    std::vector<SvgText> candidates;
    for (const double part : {0.5, 0.35, 0.65, 0.25, 0.75}) {
      const double x = start.x + part * (end.x - start.x) + 8 * std::sin(angle);
      const double y = start.y + part * (end.y - start.y) - 8 * std::cos(angle);
      candidates.push_back(
          {.at = {x, y},
           .text = absl::StrCat("memory ", Scaled(chart_.memory_bytes_per_second, "B/s")),
           .size = kLabelSize,
           .anchor = SvgAnchor::kMiddle,
           .degrees = angle * 180 / M_PI});
    }
    svg_.Text(layout_.Place(candidates));
    BlockSlope(start, end);
  }

  // Blocks small boxes along the slope, after placing its own label, whose box they would meet.
  void BlockSlope(const SvgPoint& start, const SvgPoint& end) {
    constexpr int kBoxes = 40;
    for (int i = 0; i < kBoxes; ++i) {
      const double part = static_cast<double>(i) / kBoxes;
      const double x = start.x + part * (end.x - start.x);
      const double y = start.y + part * (end.y - start.y);
      layout_.Block({x, y + (end.y - start.y) / kBoxes, x + (end.x - start.x) / kBoxes, y});
    }
  }

  void LabelRidge(double x) {
    std::vector<SvgText> candidates;
    for (const double up : {8.0, 28.0, 48.0, 68.0, 88.0}) {
      for (const SvgAnchor anchor : {SvgAnchor::kStart, SvgAnchor::kEnd}) {
        candidates.push_back(
            {.at = {anchor == SvgAnchor::kStart ? x + 7 : x - 7, kArea.bottom - up},
             .text = absl::StrCat("ridge ", IntensityText(chart_.ridge)),
             .size = kLabelSize,
             .anchor = anchor});
      }
    }
    svg_.Text(layout_.Place(candidates));
  }

  SvgPoint PlaceOf(const ChartPoint& point) const {
    return {X(point.intensity), Y(point.flops_per_second)};
  }

  void BlockAround(const SvgPoint& at) {
    constexpr double kHalf = 10;
    layout_.Block({at.x - kHalf, at.y - kHalf, at.x + kHalf, at.y + kHalf});
  }

  void DrawPoints() {
    for (const ChartPoint& point : chart_.points) {
      const MarkStyle style = StyleOf(point);
      if (const auto& range = point.flops_per_second_range; range.has_value()) {
        const double x = X(point.intensity);
        svg_.Line({x, Y(range->low)}, {x, Y(range->high)}, {.color = style.color, .width = 2});
      }
      svg_.Mark(style.mark, PlaceOf(point), style.color);
    }
  }

  void DrawLegend() {
    double y = kRooflineLegendTop;
    for (const ChartPoint& point : chart_.points) {
      const MarkStyle style = StyleOf(point);
      svg_.Mark(style.mark, {kArea.left + 8, y - 4}, style.color);
      svg_.Text({.at = {kArea.left + 26, y},
                 .text = absl::StrCat(point.name, ": ", IntensityText(point.intensity), ", ",
                                      Scaled(point.flops_per_second, "FLOP/s"), ", ",
                                      TimeText(point.seconds), ", ", PointBasisText(point))});
      y += kRooflineLegendLine;
    }
    for (const std::string& line : sources_) {
      svg_.Text({.at = {kArea.left, y}, .text = line, .size = 11, .color = kRooflineSourceColor});
      y += kRooflineSourceLine;
    }
  }

  const RooflineChart& chart_;
  const ChartAxes axes_;
  const std::vector<std::string> sources_;
  SvgWriter svg_;
  LabelLayout layout_;
};

}  // namespace

std::string RooflineSvg(const RooflineChart& chart) { return RooflineDrawing(chart).Document(); }

}  // namespace sextant::client
