// Charts of kernels' efficiency over size, as one SVG document.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/plot/pictures.h"
#include "client/plot/svg.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kChartWidth = 800;
constexpr double kChartLeft = 84;
constexpr double kChartRight = 780;
constexpr double kChartTop = 48;  // of the axes, below the chart's top
constexpr double kAxisHeight = 260;
constexpr double kChartLegendTop = kChartTop + kAxisHeight + 64;
constexpr double kChartLegendLine = 19;
constexpr double kChartSourceLine = 15;
constexpr double kGap = 24;

constexpr SvgStroke kChartFrame = {"#222222", 1.2, ""};
constexpr SvgStroke kChartGrid = {"#e2e2e2", 1, ""};
constexpr char kChartSourceColor[] = "#555555";

struct LineStyle {
  SvgMark mark;
  const char* color;
  const char* dashes;
};

// Colours that colour-blind readers tell apart (Okabe, Ito 2008); marks and dashes differ, too.
LineStyle StyleOf(size_t line) {
  constexpr LineStyle kStyles[] = {
      {SvgMark::kDisc, "#0072b2", ""},        {SvgMark::kSquare, "#d55e00", "7 3"},
      {SvgMark::kTriangle, "#009e73", "2 3"}, {SvgMark::kCross, "#8e3a80", "9 3 2 3"},
      {SvgMark::kDisc, "#222222", "12 4"},    {SvgMark::kSquare, "#e69f00", "1 4"}};
  return kStyles[line % std::size(kStyles)];
}

std::vector<std::string> SourceLines(const KernelChart& chart) {
  std::string text;
  for (const std::string& source : chart.sources) text += Wrap("", source, 2);
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

double HeightOf(const KernelChart& chart) {
  return kChartLegendTop + kChartLegendLine * static_cast<double>(chart.lines.size()) +
         kChartSourceLine * static_cast<double>(SourceLines(chart).size()) + kGap;
}

// Draws one chart, whose top is at `top`.
class ChartDrawing {
 public:
  ChartDrawing(const KernelChart& chart, double top, SvgWriter& svg)
      : chart_(chart), top_(top), svg_(svg) {}

  void Draw() {
    DrawShareAxis();
    DrawSizeAxis();
    for (size_t i = 0; i < chart_.lines.size(); ++i) DrawLine(i);
    DrawLegend();
  }

 private:
  double X(double size) const {
    return kChartLeft + chart_.size.Fraction(size) * (kChartRight - kChartLeft);
  }
  double Y(double share) const {
    return top_ + kChartTop + (1 - std::min(share / chart_.top, 1.0)) * kAxisHeight;
  }

  void DrawShareAxis() {
    svg_.Text({.at = {kChartLeft, top_ + 29}, .text = chart_.title, .size = 16, .bold = true});
    for (int i = 0; i <= std::lround(chart_.top / chart_.tick); ++i) {
      const double share = chart_.tick * i;
      svg_.Line({kChartLeft, Y(share)}, {kChartRight, Y(share)}, kChartGrid);
      svg_.Text({.at = {kChartLeft - 8, Y(share) + 4},
                 .text = chart_.ShareLabel(share),
                 .anchor = SvgAnchor::kEnd});
    }
    svg_.Text({.at = {22, Y(chart_.top / 2)},
               .text = chart_.share_label,
               .size = 13,
               .anchor = SvgAnchor::kMiddle,
               .degrees = -90});
  }

  // Labels powers of two, leaving out those that touch the label before.
  void DrawSizeAxis() {
    double free_from = 0;
    for (double size = std::exp2(std::ceil(std::log2(chart_.size.ValueAt(0))));
         size <= chart_.size.ValueAt(1); size *= chart_.SizeStep()) {
      const double x = X(size);
      svg_.Line({x, Y(chart_.top)}, {x, Y(0)}, kChartGrid);
      if (x < free_from) continue;
      svg_.Text(
          {.at = {x, Y(0) + 18}, .text = chart_.SizeLabel(size), .anchor = SvgAnchor::kMiddle});
      free_from = x + 52;
    }
    svg_.Line({kChartLeft, Y(chart_.top)}, {kChartLeft, Y(0)}, kChartFrame);
    svg_.Line({kChartLeft, Y(0)}, {kChartRight, Y(0)}, kChartFrame);
    svg_.Text({.at = {(kChartLeft + kChartRight) / 2, Y(0) + 40},
               .text = chart_.size_label,
               .size = 13,
               .anchor = SvgAnchor::kMiddle});
  }

  // Intervals as thin bars, then the line and its marks over them.
  void DrawLine(size_t index) {
    const LineStyle style = StyleOf(index);
    const std::vector<KernelChartPoint>& points = chart_.lines[index].points;
    for (const KernelChartPoint& point : points) {
      svg_.Line({X(point.size), Y(point.low)}, {X(point.size), Y(point.high)},
                {style.color, 1, ""});
    }
    for (size_t i = 1; i < points.size(); ++i) {
      svg_.Line({X(points[i - 1].size), Y(points[i - 1].share)},
                {X(points[i].size), Y(points[i].share)}, {style.color, 2, style.dashes});
    }
    for (const KernelChartPoint& point : points) {
      svg_.Mark(style.mark, {X(point.size), Y(point.share)}, style.color);
    }
  }

  void DrawLegend() {
    double y = top_ + kChartLegendTop;
    for (size_t i = 0; i < chart_.lines.size(); ++i) {
      const LineStyle style = StyleOf(i);
      svg_.Mark(style.mark, {kChartLeft + 8, y - 4}, style.color);
      svg_.Text({.at = {kChartLeft + 26, y},
                 .text = absl::StrCat(chart_.lines[i].name, "; bars: 80 % intervals")});
      y += kChartLegendLine;
    }
    for (const std::string& line : SourceLines(chart_)) {
      svg_.Text({.at = {kChartLeft, y}, .text = line, .size = 11, .color = kChartSourceColor});
      y += kChartSourceLine;
    }
  }

  const KernelChart& chart_;
  const double top_;
  SvgWriter& svg_;
};

}  // namespace

std::string KernelChartsSvg(const std::vector<KernelChart>& charts) {
  double height = 0;
  for (const KernelChart& chart : charts) height += HeightOf(chart);
  SvgWriter svg(kChartWidth, height);
  double top = 0;
  for (const KernelChart& chart : charts) {
    ChartDrawing(chart, top, svg).Draw();
    top += HeightOf(chart);
  }
  return svg.Document();
}

}  // namespace sextant::client
