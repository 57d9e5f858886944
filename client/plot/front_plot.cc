#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/plot/charts.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"

namespace sextant::client {
namespace {

constexpr size_t kMaxNamed = 12;
constexpr double kMaxSlowdown = 3;
constexpr double kGibBytes = 1073741824.0;  // 2^30

// Dark and light, so that they differ in print, too.
constexpr char kTieColor[] = "#0072b2";
constexpr char kSlowerColor[] = "#7cc4ee";
constexpr char kChosenColor[] = "#d55e00";
constexpr Stroke kFrontStroke = {"#009e73", 1.6, ""};

// No step takes, and no device holds, anything near these.
constexpr PlotEnds kSeconds = {1e-12, 1e9};
constexpr PlotEnds kBytes = {1, 1e14};

bool IsWithin(const PlotEnds& ends, double value) {
  return value >= ends.low && value <= ends.high;
}

struct FrontPoint {
  const v1::LayoutOption* option;
  v1::Interval seconds;
  v1::Interval gib;
  std::string letter = {};
};

// `interval` divided by `unit`. Where an end is not within `range` it is the figure itself.
v1::Interval Drawable(const v1::Interval& interval, const PlotEnds& range, double unit) {
  const double expected = interval.expected();
  const auto end = [&](double value) { return IsWithin(range, value) ? value : expected; };
  v1::Interval out;
  out.set_expected(expected / unit);
  out.set_low(std::min(end(interval.low()), expected) / unit);
  out.set_high(std::max(end(interval.high()), expected) / unit);
  return out;
}

struct Front {
  std::vector<FrontPoint> points;  // from the fastest on
  size_t slow = 0;                 // layouts left out: beyond kMaxSlowdown
  size_t named = 0;
};

Front FrontOf(const v1::Plan& plan) {
  Front front;
  double fastest = kSeconds.high;
  for (const v1::LayoutOption& option : plan.search().front()) {
    if (!IsWithin(kSeconds, option.step_seconds().expected())) continue;
    if (!IsWithin(kBytes, option.peak_bytes().expected())) continue;
    front.points.push_back({&option, Drawable(option.step_seconds(), kSeconds, 1),
                            Drawable(option.peak_bytes(), kBytes, kGibBytes)});
    fastest = std::min(fastest, option.step_seconds().expected());
  }
  front.slow = std::erase_if(front.points, [fastest](const FrontPoint& point) {
    return point.seconds.expected() > kMaxSlowdown * fastest;
  });
  const size_t count = front.points.size();
  front.named = std::min(count, kMaxNamed);
  for (size_t i = 0; i < front.named; ++i) {
    // Rounded; of one point the first.
    const size_t steps = std::max<size_t>(1, front.named - 1);
    front.points[(i * (count - 1) + steps / 2) / steps].letter = static_cast<char>('A' + i);
  }
  return front;
}

// Least length of an axis as a share of its high end: labels of its ticks have a few digits.
constexpr double kMinSpan = 0.05;
constexpr double kMargin = 0.04;  // share of an axis before and after its points
constexpr double kBeyond = 1.25;  // how far intervals are shown

// The ends of what is shown of one coordinate: of the points, in a picture also of their intervals.
template <typename Coordinate>
PlotEnds EndsOf(const Front& front, Medium medium, Coordinate coordinate) {
  const double first = (front.points[0].*coordinate).expected();
  PlotEnds points = {first, first};
  PlotEnds all = points;
  for (const FrontPoint& point : front.points) {
    const v1::Interval& interval = point.*coordinate;
    points = {std::min(points.low, interval.expected()),
              std::max(points.high, interval.expected())};
    if (point.letter.empty() || medium == Medium::kTerminal) continue;
    all = {std::min(all.low, interval.low()), std::max(all.high, interval.high())};
  }
  return {std::min(points.low, std::max(all.low, points.low / kBeyond)),
          std::max(points.high, std::min(all.high, points.high * kBeyond))};
}

void SetTimeAxis(const PlotEnds& ends, PlotAxis* axis) {
  const double middle = (ends.low + ends.high) / 2;
  const double half = (0.5 + kMargin) * std::max(ends.high - ends.low, kMinSpan * ends.high);
  axis->low = std::max(0.0, middle - half);
  axis->high = middle + half;
  axis->unit = axis->high < 1 ? "ms" : "s";
  axis->title = absl::StrCat("time of a step (", axis->unit, ")");
  axis->ticks = LinearTicks(*axis, axis->high < 1 ? 1e-3 : 1);
}

// From 0, unless all points are in the upper half. Up to the usable memory, unless that is so far
// above all points that the axis would show nothing of them.
void SetMemoryAxis(const PlotEnds& ends, double usable_gib, PlotAxis* axis) {
  const double top = usable_gib < 4 * ends.high ? std::max(ends.high, usable_gib) : ends.high;
  axis->low = 0;
  axis->high = top * (1 + kMargin / 2);
  if (ends.low >= axis->high / 2) {
    axis->low = axis->high - 1.25 * std::max(axis->high - ends.low, kMinSpan * axis->high);
  }
  axis->title = "memory of the fullest GPU (GiB)";
  axis->text_title = "GiB";
  axis->ticks = LinearTicks(*axis);
}

// "74.32 GiB (72.62 to 78.16)".
std::string GibIntervalText(const v1::Interval& gib) {
  const auto number = [](double each) { return Grouped(each, 2); };
  return absl::StrCat(number(gib.expected()), " GiB (", text::EndsText(gib, number), ")");
}

std::string TooltipOf(const FrontPoint& point, bool chosen) {
  return absl::StrCat(point.letter, point.letter.empty() ? "" : ": ",
                      TimeIntervalText(point.seconds), ", ", GibIntervalText(point.gib), ", fits ",
                      Percent(point.option->fit_chance()), chosen ? ", chosen" : "",
                      point.option->tie() ? ", a tie" : "", ": ", LayoutFlags(*point.option));
}

// The point, and the line to it from the point before.
void AddFrontPoint(const FrontPoint& point, const v1::Plan& plan, Medium medium, Plot* plot) {
  using google::protobuf::util::MessageDifferencer;
  std::vector<PlotPoint>& line = plot->lines.back().points;
  const PlotPoint at = {point.seconds.expected(), point.gib.expected()};
  if (!line.empty()) line.push_back({at.x, line.back().y});
  line.push_back(at);
  const bool chosen = MessageDifferencer::Equals(*point.option, plan.search().chosen());
  PlotMark mark = {.at = at,
                   .letter = point.letter,
                   .shape = point.letter.empty() ? Shape::kDot : Shape::kDisc,
                   .color = point.option->tie() ? kTieColor : kSlowerColor,
                   .tooltip = TooltipOf(point, chosen)};
  if (medium == Medium::kPicture && !point.letter.empty()) {
    mark.x_ends = {point.seconds.low(), point.seconds.high()};
    mark.y_ends = {point.gib.low(), point.gib.high()};
  }
  plot->marks.push_back(std::move(mark));
  if (chosen) plot->marks.push_back({.at = at, .shape = Shape::kSquare, .color = kChosenColor});
}

PlotTable TableOf(const Front& front, const v1::Plan& plan) {
  using enum Align;
  PlotTable table = {{kLeft, kLeft, kRight, kRight, kLeft, kLeft},
                     {"", "", "step", "memory", "recompute", "layout"}};
  for (const FrontPoint& point : front.points) {
    if (point.letter.empty()) continue;
    table.rows.push_back(
        {{},
         {point.letter, point.option->tie() ? "=" : "", TimeToThreeDigits(point.seconds.expected()),
          Gib(point.gib.expected() * kGibBytes), RecomputeWords(*point.option),
          LayoutName(*point.option, plan.device_count())}});
  }
  return table;
}

std::vector<PlotEntry> KeysOf(const Front& front, const v1::Plan& plan) {
  std::vector<PlotEntry> keys = {
      {{.shape = Shape::kDisc, .color = kTieColor},
       absl::StrCat("=: within ", Percent(plan.search().tie_ratio()), " of the fastest")},
      {{.shape = Shape::kDisc, .color = kSlowerColor}, "slower"},
      {{.shape = Shape::kSquare, .color = kChosenColor}, "chosen: what a plan is of"},
      {{.cross = Stroke{"#8a8a8a", 1, ""}}, "80 % intervals of time and memory"},
      {{.line = kFrontStroke}, "the least memory for a step of each length"}};
  if (front.named < front.points.size()) {
    keys.push_back({{.shape = Shape::kDot, .color = kTieColor}, "without a letter"});
  }
  return keys;
}

std::string WordsOf(const Front& front, double usable_gib, bool usable_is_shown, Medium medium) {
  std::string out =
      "The least memory for a step of each length: layouts that fit and of which no other is both "
      "faster and smaller";
  if (const size_t count = front.points.size(); front.named < count) {
    absl::StrAppend(&out, "; ", front.named, " of ", count, ", evenly spaced, have a letter");
    if (medium == Medium::kTerminal) {
      absl::StrAppend(&out, ", ", count - front.named, " are left out");
    }
  }
  if (front.slow > 0) {
    absl::StrAppendFormat(&out, "; %d layout%s over %g times the fastest's time %s left out",
                          front.slow, front.slow == 1 ? " that takes" : "s that take", kMaxSlowdown,
                          front.slow == 1 ? "is" : "are");
  }
  if (medium == Medium::kPicture) return absl::StrCat(out, ".");
  return absl::StrCat(out, ". Usable: ", Gib(usable_gib * kGibBytes),
                      usable_is_shown ? " (the dotted line)." : ".");
}

Plot DrawnFront(const Front& front, const v1::Plan& plan, Medium medium) {
  Plot plot = {.title = "Time against memory", .text_margin = 10};
  if (medium == Medium::kPicture) {
    absl::StrAppend(&plot.title, ": ", plan.model_name(), ", ", Grouped(plan.device_count()), " x ",
                    plan.device());
  }
  if (front.points.empty()) return plot;
  const double usable = static_cast<double>(plan.memory().capacity().usable_bytes()) / kGibBytes;
  SetTimeAxis(EndsOf(front, medium, &FrontPoint::seconds), &plot.x);
  SetMemoryAxis(EndsOf(front, medium, &FrontPoint::gib), usable, &plot.y);
  if (usable > 0) {
    plot.lines.push_back({.points = {{plot.x.low, usable}, {plot.x.high, usable}},
                          .stroke = {"#c00000", 2, "7 4"},
                          .label = absl::StrCat("usable: ", Grouped(usable, 2), " GiB"),
                          .rule = true});
  }
  plot.words = {WordsOf(front, usable, usable > 0 && usable <= plot.y.high, medium)};
  plot.lines.push_back({.stroke = kFrontStroke});
  for (const FrontPoint& point : front.points) AddFrontPoint(point, plan, medium, &plot);
  plot.keys = KeysOf(front, plan);
  plot.tables = {TableOf(front, plan)};
  return plot;
}

}  // namespace

Plot FrontPlot(const v1::Plan& plan, Medium medium) {
  return DrawnFront(FrontOf(plan), plan, medium);
}

std::string FrontSection(const v1::Plan& plan) {
  const Front front = FrontOf(plan);
  if (front.points.size() + front.slow < 2) return "";
  return TextSection(DrawnFront(front, plan, Medium::kTerminal));
}

}  // namespace sextant::client
