// The front of a layout search as an SVG document.
#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/plot/memory_chart.h"
#include "client/plot/pictures.h"
#include "client/plot/svg.h"
#include "client/text/amounts.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kFrontWidth = 900;
constexpr Box kFrontArea = {92, 96, 876, 436};         // what the axes enclose
constexpr double kFrontKeys = kFrontArea.bottom + 72;  // the baseline of the legend of marks
constexpr double kFrontKeyLine = 22;
constexpr double kFrontList = kFrontKeys + 2 * kFrontKeyLine + 18;  // the baseline of its heading
constexpr double kFrontListLine = 20;
constexpr size_t kFrontTitleWidth = 78;  // characters that fit
constexpr size_t kFrontLayoutWidth = 59;
constexpr double kFrontColumn[] = {16, 120, 232, 250, 446};  // edges of the list's columns

constexpr SvgStroke kFrontFrame = {"#222222", 1.2, ""};
constexpr SvgStroke kFrontGrid = {"#e8e8e8", 1, ""};
constexpr SvgStroke kFrontLine = {"#009e73", 1.6, ""};
constexpr SvgStroke kFrontInterval = {"#8a8a8a", 1, ""};
constexpr SvgStroke kLetterGround = {"#ffffff", 11, ""};
constexpr SvgStroke kFrontUsable = {"#c00000", 2, "7 4"};

// Dark and light, so that they differ in print, too.
constexpr char kTieColor[] = "#0072b2";
constexpr char kSlowerColor[] = "#7cc4ee";
constexpr char kChosenColor[] = "#d55e00";

const char* ColorOf(const FrontPoint& point) { return point.tie ? kTieColor : kSlowerColor; }

// "74.32 GiB (72.62 to 78.16)".
std::string GibText(const v1::Interval& gib) {
  return absl::StrCat(Grouped(gib.expected(), 2), " GiB (", Grouped(gib.low(), 2), " to ",
                      Grouped(gib.high(), 2), ")");
}

std::string TooltipOf(const FrontPoint& point) {
  return absl::StrCat(
      point.letter == kUnnamed ? "" : absl::StrCat(std::string(1, point.letter), ": "),
      TimeIntervalText(point.seconds), ", ", GibText(point.gib), ", fits ",
      Percent(point.fit_chance), point.chosen ? ", chosen" : "", point.tie ? ", a tie" : "", ": ",
      point.flags);
}

class FrontPicture {
 public:
  explicit FrontPicture(const FrontChart& chart)
      : chart_(chart),
        axes_(FrontAxesOf(chart, FrontExtent::kIntervals)),
        unit_(axes_.seconds.high < 1 ? 1e-3 : 1),
        svg_(kFrontWidth, kFrontList + kFrontListLine * static_cast<double>(chart.named) + 18),
        labels_(kFrontArea) {}

  std::string Document() {
    DrawTitle();
    DrawAxes();
    DrawUsable();
    for (const FrontPoint& point : chart_.points) DrawIntervals(point);
    DrawLine();
    for (const FrontPoint& point : chart_.points) DrawPoint(point);
    DrawLetters();
    DrawKeys();
    DrawList();
    return svg_.Document();
  }

 private:
  double X(double seconds) const {
    const double fraction = std::clamp(axes_.seconds.Fraction(seconds), 0.0, 1.0);
    return kFrontArea.left + fraction * (kFrontArea.right - kFrontArea.left);
  }
  double Y(double gib) const {
    const double fraction = std::clamp(axes_.gib.Fraction(gib), 0.0, 1.0);
    return kFrontArea.bottom - fraction * (kFrontArea.bottom - kFrontArea.top);
  }
  SvgPoint PlaceOf(const FrontPoint& point) const {
    return {X(point.seconds.expected()), Y(point.gib.expected())};
  }

  void DrawTitle() {
    svg_.Text({.at = {16, 28},
               .text = CutTo(kFrontTitleWidth, absl::StrCat("Time against memory: ", chart_.title)),
               .size = 16,
               .bold = true});
    const std::string named = NamedWords(chart_);
    svg_.Text({.at = {16, 50},
               .text = absl::StrCat("layouts that fit and of which no other is both faster and "
                                    "smaller",
                                    named.empty() ? "" : "; ", named),
               .size = 13});
  }

  void DrawAxes() {
    const LinearAxis time = {axes_.seconds.low / unit_, axes_.seconds.high / unit_};
    for (const double tick : time.Ticks()) {
      const double x = X(tick * unit_);
      svg_.Line({x, kFrontArea.top}, {x, kFrontArea.bottom}, kFrontGrid);
      svg_.Text({.at = {x, kFrontArea.bottom + 18},
                 .text = absl::StrFormat("%g", tick),
                 .anchor = SvgAnchor::kMiddle});
    }
    for (const double tick : axes_.gib.Ticks()) {
      const double y = Y(tick);
      svg_.Line({kFrontArea.left, y}, {kFrontArea.right, y}, kFrontGrid);
      svg_.Text(
          {.at = {kFrontArea.left - 8, y + 4}, .text = TickText(tick), .anchor = SvgAnchor::kEnd});
    }
    svg_.Line({kFrontArea.left, kFrontArea.top}, {kFrontArea.left, kFrontArea.bottom}, kFrontFrame);
    svg_.Line({kFrontArea.left, kFrontArea.bottom}, {kFrontArea.right, kFrontArea.bottom},
              kFrontFrame);
    const bool shared = chart_.slow > 0;  // the line below the axis has a second text
    svg_.Text({.at = {shared ? kFrontArea.left : (kFrontArea.left + kFrontArea.right) / 2,
                      kFrontArea.bottom + 40},
               .text = unit_ < 1 ? "time of a step (ms)" : "time of a step (s)",
               .size = 13,
               .anchor = shared ? SvgAnchor::kStart : SvgAnchor::kMiddle});
    if (shared) {
      svg_.Text({.at = {kFrontArea.right, kFrontArea.bottom + 40},
                 .text = SlowWords(chart_),
                 .anchor = SvgAnchor::kEnd});
    }
    svg_.Text({.at = {20, (kFrontArea.top + kFrontArea.bottom) / 2},
               .text = "memory of the fullest GPU (GiB)",
               .size = 13,
               .anchor = SvgAnchor::kMiddle,
               .degrees = -90});
  }

  void DrawUsable() {
    if (chart_.usable_gib <= 0) return;
    const std::string size = absl::StrCat("usable ", Grouped(chart_.usable_gib, 2), " GiB");
    const double y = Y(chart_.usable_gib);
    if (axes_.shows_usable) svg_.Line({kFrontArea.left, y}, {kFrontArea.right, y}, kFrontUsable);
    const SvgText label = {
        .at = {kFrontArea.right, axes_.shows_usable ? y - 8 : kFrontArea.top - 8},
        .text = axes_.shows_usable ? size : absl::StrCat(size, ", above the chart"),
        .anchor = SvgAnchor::kEnd,
        .color = kFrontUsable.color};
    labels_.Block(BoxOf(label));
    svg_.Text(label);
  }

  // The least memory for a step of each length.
  void DrawLine() {
    for (size_t i = 0; i + 1 < chart_.points.size(); ++i) {
      const SvgPoint from = PlaceOf(chart_.points[i]);
      const SvgPoint to = PlaceOf(chart_.points[i + 1]);
      svg_.Line(from, {to.x, from.y}, kFrontLine);
      svg_.Line({to.x, from.y}, to, kFrontLine);
    }
  }

  // Where an interval goes on beyond the axes, its line has no cap.
  void DrawIntervals(const FrontPoint& point) {
    constexpr double kCap = 4;
    if (point.letter == kUnnamed) return;
    const SvgPoint at = PlaceOf(point);
    svg_.Line({X(point.seconds.low()), at.y}, {X(point.seconds.high()), at.y}, kFrontInterval);
    for (const double end : {point.seconds.low(), point.seconds.high()}) {
      if (end < axes_.seconds.low || end > axes_.seconds.high) continue;
      svg_.Line({X(end), at.y - kCap}, {X(end), at.y + kCap}, kFrontInterval);
    }
    svg_.Line({at.x, Y(point.gib.low())}, {at.x, Y(point.gib.high())}, kFrontInterval);
    for (const double end : {point.gib.low(), point.gib.high()}) {
      if (end < axes_.gib.low || end > axes_.gib.high) continue;
      svg_.Line({at.x - kCap, Y(end)}, {at.x + kCap, Y(end)}, kFrontInterval);
    }
  }

  void DrawPoint(const FrontPoint& point) {
    const SvgPoint at = PlaceOf(point);
    svg_.Mark(point.letter == kUnnamed ? SvgMark::kDot : SvgMark::kDisc, at, ColorOf(point),
              TooltipOf(point));
    if (point.chosen) svg_.Mark(SvgMark::kSquare, at, kChosenColor);
    const double half = point.letter == kUnnamed ? 3 : 6;
    labels_.Block({at.x - half, at.y - half, at.x + half, at.y + half});
  }

  // Above and to the right of their points, where no layout of the front can be, or else as near as
  // there is room.
  void DrawLetters() {
    for (const FrontPoint& point : chart_.points) {
      if (point.letter == kUnnamed) continue;
      const SvgPoint at = PlaceOf(point);
      std::vector<SvgText> candidates;
      for (double far = 9; far < 260; far += 15) {
        for (const SvgPoint& side :
             {SvgPoint{1, -1}, SvgPoint{-1, 1}, SvgPoint{1, 1}, SvgPoint{-1, -1}}) {
          candidates.push_back({.at = {at.x + side.x * far, at.y + side.y * far + 4},
                                .text = std::string(1, point.letter),
                                .anchor = side.x > 0 ? SvgAnchor::kStart : SvgAnchor::kEnd,
                                .bold = true});
        }
      }
      const SvgText& letter = labels_.Place(candidates);
      const Box box = BoxOf(letter);  // on white: lines may cross it
      svg_.Line({box.left, letter.at.y - 4}, {box.right, letter.at.y - 4}, kLetterGround);
      svg_.Text(letter);
    }
  }

  // The meaning of marks and lines, in two lines.
  void DrawKeys() {
    const auto key = [this](double x, int line, const std::string& text) -> SvgPoint {
      const double y = kFrontKeys + kFrontKeyLine * line;
      svg_.Text({.at = {x + 18, y}, .text = text});
      return {x, y - 4};
    };
    svg_.Mark(SvgMark::kDisc,
              key(94, 0, absl::StrCat("within ", Percent(chart_.tie_ratio), " of the fastest")),
              kTieColor);
    svg_.Mark(SvgMark::kDisc, key(344, 0, "slower"), kSlowerColor);
    svg_.Mark(SvgMark::kSquare, key(454, 0, "chosen: what a plan is of"), kChosenColor);
    if (chart_.named < chart_.points.size()) {
      const SvgPoint dot = key(700, 0, "without a letter");
      svg_.Mark(SvgMark::kDot, {dot.x - 4, dot.y}, kTieColor);
      svg_.Mark(SvgMark::kDot, {dot.x + 4, dot.y}, kSlowerColor);
    }
    const SvgPoint interval = key(94, 1, "80 % intervals of time and memory");
    svg_.Line({interval.x - 9, interval.y}, {interval.x + 9, interval.y}, kFrontInterval);
    svg_.Line({interval.x, interval.y - 9}, {interval.x, interval.y + 9}, kFrontInterval);
    const SvgPoint line = key(454, 1, "the least memory for a step of each length");
    svg_.Line({line.x - 9, line.y}, {line.x + 9, line.y}, kFrontLine);
  }

  void ListRow(double baseline, const std::array<std::string, 5>& cells, bool bold) {
    for (size_t i = 0; i < cells.size(); ++i) {
      svg_.Text({.at = {kFrontColumn[i], baseline},
                 .text = cells[i],
                 .anchor = i == 1 || i == 2 ? SvgAnchor::kEnd : SvgAnchor::kStart,
                 .bold = bold || i == 0});
    }
  }

  void DrawList() {
    double baseline = kFrontList;
    ListRow(baseline, {"", "step", "memory", "recomputed", "layout"}, true);
    for (const FrontPoint& point : chart_.points) {
      if (point.letter == kUnnamed) continue;
      baseline += kFrontListLine;
      ListRow(baseline,
              {std::string(1, point.letter), TimeToThreeDigits(point.seconds.expected()),
               absl::StrCat(Grouped(point.gib.expected(), 2), " GiB"), point.recompute,
               CutTo(kFrontLayoutWidth, point.layout)},
              false);
    }
  }

  const FrontChart& chart_;
  const FrontAxes axes_;
  const double unit_;  // of the axis of time, in seconds
  SvgWriter svg_;
  LabelLayout labels_;
};

}  // namespace

std::string FrontSvg(const FrontChart& chart) { return FrontPicture(chart).Document(); }

}  // namespace sextant::client
