// Plots as SVG documents.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/plot/plot.h"
#include "client/plot/svg.h"

namespace sextant::client {
namespace {

constexpr double kTitleLeft = 16;
constexpr size_t kTitleWidth = 84;  // characters that fit
constexpr size_t kWordsWidth = 104;
constexpr double kLeft = 92;  // of the axes, and of all below them
constexpr double kRight = 880;
constexpr double kBarsRight = 800;  // of bars, which have notes at their right
constexpr double kAxesHeight = 320;
constexpr double kCap = 4;  // half of it

constexpr Stroke kFrame = {"#222222", 1.2, ""};
constexpr Stroke kGrid = {"#e2e2e2", 1, ""};
constexpr Stroke kInterval = {"#8a8a8a", 1, ""};
constexpr Stroke kLetterGround = {"#ffffff", 11, ""};

// Heights of a row and of the bar in it: many rows have to fit on a page.
struct RowSize {
  double row;
  double bar;
};

RowSize RowSizeFor(size_t bars) {
  if (bars == 1) return {64, 52};
  if (bars <= 8) return {34, 24};
  return bars <= 24 ? RowSize{24, 17} : RowSize{17, 13};
}

// Draws one plot, whose top is at `top`.
class SvgPlot {
 public:
  SvgPlot(const Plot& plot, double top, SvgWriter& svg)
      : plot_(plot), top_(top), svg_(svg), rows_(RowSizeFor(plot.bars.size())) {
    for (const std::string& words : plot.words) {
      for (std::string& line : SvgLines(words, kWordsWidth)) words_.push_back(std::move(line));
    }
    area_ = {kLeft, top + 60 + 20 * static_cast<double>(words_.size()), kRight, 0};
    area_.bottom = area_.top + kAxesHeight;
    if (plot.bars.empty()) return;
    double rows = static_cast<double>(plot.bars.size());
    for (const PlotBar& bar : plot.bars) rows += bar.gap.empty() ? 0 : 1;
    area_.right = kBarsRight;
    area_.bottom = area_.top + rows_.row * rows;
  }

  // Returns the bottom.
  double Draw() {
    labels_ = LabelLayout({area_.left, area_.top - 24, area_.right, area_.bottom});
    DrawWords();
    DrawAxes();
    DrawBars();
    for (const PlotMark& mark : plot_.marks) DrawIntervals(mark);
    for (const PlotLine& line : plot_.lines) DrawLine(line);
    for (const PlotMark& mark : plot_.marks) {
      svg_.Mark(mark.shape, At(mark.at), mark.color, mark.tooltip);
      BlockAround(At(mark.at), mark.shape == Shape::kDot ? 3 : 8);
    }
    LabelLines();
    for (const PlotMark& mark : plot_.marks) DrawLetter(mark);
    return DrawSvgLegend(plot_, {kLeft, area_.bottom + 68}, svg_) + 12;
  }

 private:
  double X(double x) const {
    return area_.left + std::clamp(plot_.x.Fraction(x), 0.0, 1.0) * (area_.right - area_.left);
  }
  double Y(double y) const {
    return area_.bottom - std::clamp(plot_.y.Fraction(y), 0.0, 1.0) * (area_.bottom - area_.top);
  }
  PlotPoint At(const PlotPoint& point) const { return {X(point.x), Y(point.y)}; }

  void BlockAround(const PlotPoint& at, double half) {
    labels_.Block({at.x - half, at.y - half, at.x + half, at.y + half});
  }

  void DrawWords() {
    svg_.Text({.at = {kTitleLeft, top_ + 28},
               .text = CutTo(kTitleWidth, plot_.title),
               .size = 16,
               .bold = true});
    double y = top_ + 30;
    for (const std::string& line : words_) {
      svg_.Text({.at = {kTitleLeft, y += 20}, .text = line, .size = 13});
    }
  }

  void DrawAxes() {
    double free_from = 0;
    for (const PlotTick& tick : plot_.x.ticks) {
      const SvgText label = {
          .at = {X(tick.at), area_.bottom + 18}, .text = tick.label, .anchor = SvgAnchor::kMiddle};
      svg_.Line({label.at.x, area_.top}, {label.at.x, area_.bottom}, kGrid);
      if (tick.label.empty() || BoxOf(label).left < free_from) continue;
      svg_.Text(label);
      free_from = BoxOf(label).right + 8;
    }
    for (const PlotTick& tick : plot_.y.ticks) {
      const double y = Y(tick.at);
      svg_.Line({area_.left, y}, {area_.right, y}, kGrid);
      if (tick.label.empty()) continue;
      svg_.Text({.at = {area_.left - 8, y + 4}, .text = tick.label, .anchor = SvgAnchor::kEnd});
    }
    svg_.Line({area_.left, area_.top}, {area_.left, area_.bottom}, kFrame);
    svg_.Line({area_.left, area_.bottom}, {area_.right, area_.bottom}, kFrame);
    svg_.Text({.at = {(area_.left + area_.right) / 2, area_.bottom + 40},
               .text = plot_.x.title,
               .size = 13,
               .anchor = SvgAnchor::kMiddle});
    if (plot_.y.title.empty()) return;
    if (plot_.bars.empty()) {
      svg_.Text({.at = {20, (area_.top + area_.bottom) / 2},
                 .text = plot_.y.title,
                 .size = 13,
                 .anchor = SvgAnchor::kMiddle,
                 .degrees = -90});
    } else {
      Beside(area_.top - 8, plot_.y.title, plot_.x.unit, false);
    }
  }

  // Texts left and right of a bar.
  void Beside(double baseline, const std::string& left, const std::string& right, bool bold) {
    svg_.Text(
        {.at = {area_.left - 10, baseline}, .text = left, .anchor = SvgAnchor::kEnd, .bold = bold});
    svg_.Text({.at = {area_.right + 10, baseline}, .text = right, .bold = bold});
  }

  void DrawBars() {
    double top = area_.top;
    for (const PlotBar& bar : plot_.bars) {
      if (!bar.gap.empty()) {
        svg_.Text({.at = {area_.left + 8, top + rows_.row / 2 + 4}, .text = bar.gap});
        top += rows_.row;
      }
      DrawBar(bar, top + (rows_.row - rows_.bar) / 2);
      top += rows_.row;
    }
  }

  void DrawBar(const PlotBar& bar, double top) {
    double edge = 0;
    for (const PlotPart& part : bar.parts) {
      const double left = X(edge);
      edge += part.size;
      const double right = X(edge);
      if (part.size <= 0) continue;
      svg_.Rectangle({left, top, right, top + rows_.bar}, *part.key.area);
      if (part.name.empty() || WidthOf(part.name) + 8 > right - left) continue;
      svg_.Text({.at = {(left + right) / 2, area_.top - 8},
                 .text = part.name,
                 .anchor = SvgAnchor::kMiddle});
    }
    const double middle = top + rows_.bar / 2;
    svg_.Whisker({X(bar.ends.low), X(bar.ends.high)}, middle, bar.ends.high > plot_.x.high);
    Beside(middle + 4, bar.name, bar.note, bar.bold);
  }

  // Where an interval goes on beyond the axes, its line has no cap.
  void DrawIntervals(const PlotMark& mark) {
    const PlotPoint at = At(mark.at);
    if (const auto& ends = mark.x_ends; ends.has_value()) {
      svg_.Line({X(ends->low), at.y}, {X(ends->high), at.y}, kInterval);
      for (const double end : {ends->low, ends->high}) {
        if (end < plot_.x.low || end > plot_.x.high) continue;
        svg_.Line({X(end), at.y - kCap}, {X(end), at.y + kCap}, kInterval);
      }
    }
    if (const auto& ends = mark.y_ends; ends.has_value()) {
      svg_.Line({at.x, Y(ends->low)}, {at.x, Y(ends->high)}, kInterval);
      for (const double end : {ends->low, ends->high}) {
        if (end < plot_.y.low || end > plot_.y.high) continue;
        svg_.Line({at.x - kCap, Y(end)}, {at.x + kCap, Y(end)}, kInterval);
      }
    }
  }

  // Intervals as thin bars, then the line and its shapes over them.
  void DrawLine(const PlotLine& line) {
    if (IsAbove(line)) return;
    for (size_t i = 0; i < line.y_ends.size(); ++i) {
      const double x = X(line.points[i].x);
      svg_.Line({x, Y(line.y_ends[i].low)}, {x, Y(line.y_ends[i].high)}, {line.stroke.color});
    }
    for (size_t i = 1; i < line.points.size(); ++i) {
      svg_.Line(At(line.points[i - 1]), At(line.points[i]), line.stroke);
    }
    for (const PlotPoint& point : line.points) {
      svg_.Mark(line.shape, At(point), line.stroke.color);
      if (line.shape != Shape::kNone) BlockAround(At(point), 8);
    }
  }

  bool IsAbove(const PlotLine& line) const {
    return line.rule && plot_.bars.empty() && plot_.y.Fraction(line.points[0].y) > 1 &&
           line.points[0].y == line.points[1].y;
  }

  // Labels avoid all lines that have one, but a sloped line's own, whose box its line meets.
  void LabelLines() {
    for (const PlotLine& line : plot_.lines) {
      if (!line.label.empty() && !IsSloped(line)) BlockAlong(line);
    }
    for (const PlotLine& line : plot_.lines) {
      if (line.label.empty()) continue;
      svg_.Text(labels_.Place(LabelsOf(line)));
      if (IsSloped(line)) BlockAlong(line);
    }
  }

  static bool IsSloped(const PlotLine& line) {
    const PlotPoint& a = line.points[line.points.size() - 2];
    const PlotPoint& b = line.points.back();
    return a.x != b.x && a.y != b.y;
  }

  void BlockAlong(const PlotLine& line) {
    constexpr int kBoxes = 40;
    const PlotPoint from = At(line.points[line.points.size() - 2]);
    const PlotPoint to = At(line.points.back());
    for (int i = 0; i <= kBoxes; ++i) {
      const double part = static_cast<double>(i) / kBoxes;
      BlockAround({from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)}, 2);
    }
  }

  std::vector<SvgText> LabelsOf(const PlotLine& line) const {
    const PlotPoint from = At(line.points[line.points.size() - 2]);
    const PlotPoint to = At(line.points.back());
    if (IsSloped(line)) return LabelsAlong(from, to, line.label);
    if (from.y == to.y) return LabelsOfLevel(from, to, line);
    std::vector<SvgText> out;
    const auto add = [&](double x, double y, SvgAnchor anchor) {
      out.push_back({.at = {x, y}, .text = line.label, .anchor = anchor, .color = ColorOf(line)});
    };
    if (!plot_.bars.empty()) {
      add(from.x, area_.top - 10, SvgAnchor::kMiddle);
      const bool at_right = from.x > (area_.left + area_.right) / 2;
      add(at_right ? area_.right : area_.left, area_.top - 10,
          at_right ? SvgAnchor::kEnd : SvgAnchor::kStart);
      return out;
    }
    for (double up = 8; up < 100; up += 20) {
      add(from.x + 7, area_.bottom - up, SvgAnchor::kStart);
      add(from.x - 7, area_.bottom - up, SvgAnchor::kEnd);
    }
    return out;
  }

  // Rules' labels have their colour.
  static const char* ColorOf(const PlotLine& line) {
    return line.rule && *line.stroke.dashes != '\0' ? line.stroke.color : SvgText().color;
  }

  std::vector<SvgText> LabelsOfLevel(const PlotPoint& from, const PlotPoint& to,
                                     const PlotLine& line) const {
    if (IsAbove(line)) {
      return {{.at = {to.x, area_.top - 8},
               .text = absl::StrCat(line.label, ", above the chart"),
               .anchor = SvgAnchor::kEnd,
               .color = ColorOf(line)}};
    }
    std::vector<SvgText> out;
    for (const double part : {1.0, 0.7, 0.4}) {
      for (const double down : {-7.0, 17.0, 34.0, 51.0, 75.0, 95.0, 115.0}) {
        out.push_back({.at = {from.x + part * (to.x - from.x) - 6, from.y + down},
                       .text = line.label,
                       .anchor = SvgAnchor::kEnd,
                       .color = ColorOf(line)});
      }
    }
    for (double down = 34; down < 240; down += 17) {  // left of a short line
      out.push_back({.at = {from.x - 8, from.y + down},
                     .text = line.label,
                     .anchor = SvgAnchor::kEnd,
                     .color = ColorOf(line)});
    }
    return out;
  }

  // Above a slope, as steep as it is.
  static std::vector<SvgText> LabelsAlong(const PlotPoint& from, const PlotPoint& to,
                                          const std::string& label) {
    const double angle = std::atan2(to.y - from.y, to.x - from.x);
    std::vector<SvgText> out;
    for (const double part : {0.5, 0.35, 0.65, 0.25, 0.75}) {
      out.push_back({.at = {from.x + part * (to.x - from.x) + 8 * std::sin(angle),
                            from.y + part * (to.y - from.y) - 8 * std::cos(angle)},
                     .text = label,
                     .anchor = SvgAnchor::kMiddle,
                     .degrees = angle * 180 / M_PI});
    }
    return out;
  }

  // Above and to the right of its point, or else as near as there is room.
  void DrawLetter(const PlotMark& mark) {
    if (mark.letter.empty() || mark.shape == Shape::kNone) return;
    const PlotPoint at = At(mark.at);
    std::vector<SvgText> candidates;
    for (double far = 9; far < 260; far += 15) {
      for (const PlotPoint& side :
           {PlotPoint{1, -1}, PlotPoint{-1, 1}, PlotPoint{1, 1}, PlotPoint{-1, -1}}) {
        candidates.push_back({.at = {at.x + side.x * far, at.y + side.y * far + 4},
                              .text = mark.letter,
                              .anchor = side.x > 0 ? SvgAnchor::kStart : SvgAnchor::kEnd,
                              .bold = true});
      }
    }
    const SvgText& letter = labels_.Place(candidates);
    const Box box = BoxOf(letter);  // on white: lines may cross it
    svg_.Line({box.left, letter.at.y - 4}, {box.right, letter.at.y - 4}, kLetterGround);
    svg_.Text(letter);
  }

  const Plot& plot_;
  const double top_;
  SvgWriter& svg_;
  const RowSize rows_;
  std::vector<std::string> words_;  // line by line
  Box area_;                        // what the axes enclose
  LabelLayout labels_{Box()};
};

}  // namespace

std::string RenderSvg(const std::vector<Plot>& plots) {
  SvgWriter svg;
  double top = 0;
  for (const Plot& plot : plots) top = SvgPlot(plot, top, svg).Draw();
  return svg.Document(kSvgWidth, top);
}

}  // namespace sextant::client
