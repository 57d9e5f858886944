#include "client/plot/front_chart.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/plot/memory_chart.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kGibBytes = 1073741824.0;  // 2^30

struct Ends {
  double low;
  double high;
};

// No step takes, and no device holds, anything near these.
constexpr Ends kSeconds = {1e-12, 1e9};
constexpr Ends kBytes = {1, 1e14};

bool IsWithin(const Ends& ends, double value) { return value >= ends.low && value <= ends.high; }

// `interval` divided by `unit`. Where an end is not within `range` it is the figure itself.
v1::Interval Drawable(const v1::Interval& interval, const Ends& range, double unit) {
  const double expected = interval.expected();
  const auto end = [&](double value) { return IsWithin(range, value) ? value : expected; };
  v1::Interval out;
  out.set_expected(expected / unit);
  out.set_low(std::min(end(interval.low()), expected) / unit);
  out.set_high(std::max(end(interval.high()), expected) / unit);
  return out;
}

FrontPoint PointOf(const v1::LayoutOption& option, const v1::Plan& plan) {
  using google::protobuf::util::MessageDifferencer;
  return {.seconds = Drawable(option.step_seconds(), kSeconds, 1),
          .gib = Drawable(option.peak_bytes(), kBytes, kGibBytes),
          .tie = option.tie(),
          .chosen = MessageDifferencer::Equals(option, plan.search().chosen()),
          .fit_chance = option.fit_chance(),
          .recompute = RecomputeWords(option),
          .layout = LayoutName(option, plan.device_count()),
          .flags = LayoutFlags(option)};
}

void LeaveOutSlow(FrontChart* chart) {
  if (chart->points.empty()) return;
  const double fastest =
      absl::c_min_element(chart->points, [](const FrontPoint& a, const FrontPoint& b) {
        return a.seconds.expected() < b.seconds.expected();
      })->seconds.expected();
  chart->slow = std::erase_if(chart->points, [fastest](const FrontPoint& point) {
    return point.seconds.expected() > kMaxSlowdown * fastest;
  });
}

void NamePoints(FrontChart* chart) {
  const size_t count = chart->points.size();
  chart->named = std::min(count, kMaxNamed);
  for (size_t i = 0; i < chart->named; ++i) {
    // Rounded; of one point the first.
    const size_t steps = std::max<size_t>(1, chart->named - 1);
    const size_t at = (i * (count - 1) + steps / 2) / steps;
    chart->points[at].letter = static_cast<char>('A' + i);
  }
}

// Least length of an axis as a share of its high end: labels of its ticks have a few digits.
constexpr double kMinSpan = 0.05;
constexpr double kMargin = 0.04;  // share of an axis before and after its points
constexpr double kBeyond = 1.25;  // how far intervals are shown

// The ends of what is shown of one coordinate.
template <typename Coordinate>
Ends EndsOf(const FrontChart& chart, FrontExtent extent, const Coordinate& coordinate) {
  Ends points = {coordinate(chart.points[0]).expected(), coordinate(chart.points[0]).expected()};
  Ends all = points;
  for (const FrontPoint& point : chart.points) {
    const v1::Interval& interval = coordinate(point);
    points = {std::min(points.low, interval.expected()),
              std::max(points.high, interval.expected())};
    if (point.letter == kUnnamed || extent == FrontExtent::kPoints) continue;
    all = {std::min(all.low, interval.low()), std::max(all.high, interval.high())};
  }
  return {std::min(points.low, std::max(all.low, points.low / kBeyond)),
          std::max(points.high, std::min(all.high, points.high * kBeyond))};
}

LinearAxis TimeAxisFor(const Ends& ends) {
  const double middle = (ends.low + ends.high) / 2;
  const double half = (0.5 + kMargin) * std::max(ends.high - ends.low, kMinSpan * ends.high);
  return {std::max(0.0, middle - half), middle + half};
}

// From 0, unless all points are in the upper half.
LinearAxis MemoryAxisFor(const Ends& ends, double top) {
  const double high = top * (1 + kMargin / 2);
  if (ends.low < high / 2) return {0, high};
  const double span = std::max(high - ends.low, kMinSpan * high);
  return {high - 1.25 * span, high};
}

constexpr int kFrontRows = 16;
constexpr size_t kFrontMargin = 10;  // columns left of the canvas: a tick's label and the axis

class FrontDrawing {
 public:
  explicit FrontDrawing(const FrontChart& chart)
      : chart_(chart),
        axes_(FrontAxesOf(chart, FrontExtent::kPoints)),
        canvas_(static_cast<int>(PlotColumns()), kFrontRows) {}

  std::string Text() {
    DrawUsable();
    DrawLine();
    for (const FrontPoint& point : chart_.points) {
      if (point.letter == kUnnamed) continue;
      canvas_.Letter(X(point) / 2, Y(point.gib.expected()) / 4, point.letter);
    }
    return absl::StrCat("  GiB\n", Rows(), Axis(), Labels());
  }

 private:
  static int DotAt(double fraction, int dots) {
    return static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * (dots - 1)));
  }
  int X(const FrontPoint& point) const {
    return DotAt(axes_.seconds.Fraction(point.seconds.expected()), canvas_.dot_columns());
  }
  int Y(double gib) const { return DotAt(1 - axes_.gib.Fraction(gib), canvas_.dot_rows()); }

  // One dot a cell.
  void DrawUsable() {
    if (!axes_.shows_usable) return;
    for (int x = 0; x < canvas_.dot_columns(); x += 2) canvas_.Dot(x, Y(chart_.usable_gib));
  }

  // The least memory for a step of each length: a staircase through all points.
  void DrawLine() {
    for (size_t i = 0; i + 1 < chart_.points.size(); ++i) {
      const int right = X(chart_.points[i + 1]);
      const int top = Y(chart_.points[i].gib.expected());
      canvas_.Line(X(chart_.points[i]), top, right, top);
      canvas_.Line(right, top, right, Y(chart_.points[i + 1].gib.expected()));
    }
  }

  std::string Rows() const {
    std::vector<std::string> labels(kFrontRows);
    for (const double tick : axes_.gib.Ticks()) {
      labels[static_cast<size_t>(Y(tick) / 4)] = TickText(tick);
    }
    std::string out;
    const std::vector<std::string> rows = canvas_.Rows();
    for (size_t i = 0; i < rows.size(); ++i) {
      absl::StrAppend(&out, absl::StrFormat("%*s", static_cast<int>(kFrontMargin) - 2, labels[i]),
                      labels[i].empty() ? " │" : " ┤",
                      rows[i].substr(0, rows[i].find_last_not_of(' ') + 1), "\n");
    }
    return out;
  }

  size_t TickColumn(double seconds) const {
    return static_cast<size_t>(DotAt(axes_.seconds.Fraction(seconds), canvas_.dot_columns()) / 2);
  }

  std::string Axis() const {
    std::vector<std::string> cells(PlotColumns(), "─");
    for (const double tick : Ticks()) cells[TickColumn(tick)] = "┴";
    return absl::StrCat(std::string(kFrontMargin - 1, ' '), "└", absl::StrJoin(cells, ""), "\n");
  }

  std::string Labels() const {
    std::string out(kFrontMargin + PlotColumns(), ' ');
    for (const double tick : Ticks()) {
      const std::string label = absl::StrFormat("%g", tick / Unit());
      const size_t start = kFrontMargin + TickColumn(tick) - label.size() / 2;
      // The unit follows the last.
      const bool has_room = start + label.size() <= out.size() && out[start - 1] == ' ';
      if (has_room) out.replace(start, label.size(), label);
    }
    return absl::StrCat(out.substr(0, out.find_last_not_of(' ') + 1), Unit() < 1 ? " ms" : " s",
                        "\n");
  }

  // The unit of the axis of time, in seconds.
  double Unit() const { return axes_.seconds.high < 1 ? 1e-3 : 1; }

  std::vector<double> Ticks() const {
    std::vector<double> out =
        LinearAxis{axes_.seconds.low / Unit(), axes_.seconds.high / Unit()}.Ticks();
    for (double& tick : out) tick *= Unit();
    return out;
  }

  const FrontChart& chart_;
  const FrontAxes axes_;
  BrailleCanvas canvas_;
};

std::string FrontTable(const FrontChart& chart) {
  using enum Align;
  Table table(2, {kLeft, kLeft, kRight, kRight, kLeft, kLeft});
  table.AddRow({"", "", "step", "memory", "recompute", "layout"});
  for (const FrontPoint& point : chart.points) {
    if (point.letter == kUnnamed) continue;
    table.AddRow({std::string(1, point.letter), point.tie ? "=" : "",
                  TimeToThreeDigits(point.seconds.expected()),
                  Gib(point.gib.expected() * kGibBytes), point.recompute, point.layout});
  }
  return table.Text();
}

}  // namespace

FrontChart FrontChartOf(const v1::Plan& plan) {
  FrontChart chart;
  chart.title =
      absl::StrCat(plan.model_name(), ", ", Grouped(plan.device_count()), " x ", plan.device());
  chart.usable_gib = static_cast<double>(plan.memory().capacity().usable_bytes()) / kGibBytes;
  chart.tie_ratio = plan.search().tie_ratio();
  for (const v1::LayoutOption& option : plan.search().front()) {
    if (!IsWithin(kSeconds, option.step_seconds().expected())) continue;
    if (!IsWithin(kBytes, option.peak_bytes().expected())) continue;
    chart.points.push_back(PointOf(option, plan));
  }
  LeaveOutSlow(&chart);
  if (!chart.points.empty()) NamePoints(&chart);
  return chart;
}

FrontAxes FrontAxesOf(const FrontChart& chart, FrontExtent extent) {
  const Ends seconds = EndsOf(
      chart, extent, [](const FrontPoint& point) -> auto& { return point.seconds; });
  const Ends gib = EndsOf(
      chart, extent, [](const FrontPoint& point) -> auto& { return point.gib; });
  const bool shows_usable = chart.usable_gib > 0 && chart.usable_gib < 4 * gib.high;
  const double top = shows_usable ? std::max(gib.high, chart.usable_gib) : gib.high;
  return {TimeAxisFor(seconds), MemoryAxisFor(gib, top), shows_usable};
}

std::string NamedWords(const FrontChart& chart) {
  if (chart.named == chart.points.size()) return "";
  return absl::StrCat(chart.named, " of ", chart.points.size(), ", evenly spaced, have a letter");
}

std::string SlowWords(const FrontChart& chart) {
  if (chart.slow == 0) return "";
  return absl::StrFormat("%d layout%s over %g times the fastest's time %s left out", chart.slow,
                         chart.slow == 1 ? " that takes" : "s that take", kMaxSlowdown,
                         chart.slow == 1 ? "is" : "are");
}

std::string FrontSection(const v1::Plan& plan) {
  const FrontChart chart = FrontChartOf(plan);
  if (chart.points.size() + chart.slow < 2) return "";
  const std::string slow = SlowWords(chart);
  const std::string named = NamedWords(chart);
  const std::string words = absl::StrCat(
      "The least memory for a step of each length: layouts that fit and of which no other is both "
      "faster and smaller",
      named.empty()
          ? ""
          : absl::StrCat("; ", named, ", ", chart.points.size() - chart.named, " are left out"),
      slow.empty() ? "" : absl::StrCat("; ", slow), ". Usable: ", Gib(chart.usable_gib * kGibBytes),
      FrontAxesOf(chart, FrontExtent::kPoints).shows_usable ? " (the dotted line)." : ".");
  return absl::StrCat("\nTime against memory\n", Wrap("  ", words, 2), FrontDrawing(chart).Text(),
                      FrontTable(chart));
}

}  // namespace sextant::client
