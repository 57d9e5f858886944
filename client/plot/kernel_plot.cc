#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/plot/charts.h"
#include "client/text/sources.h"

namespace sextant::client {
namespace {

struct RatePoint {
  int64_t size;
  double rate;  // a share of 1, or in GB/s
  v1::Interval seconds;
};

bool IsAboveZero(double value) { return std::isfinite(value) && value > 0; }

bool CanBeDrawn(const RatePoint& point) {
  return point.size > 0 && IsAboveZero(point.rate) && IsAboveZero(point.seconds.expected()) &&
         IsAboveZero(point.seconds.low()) && IsAboveZero(point.seconds.high());
}

struct LineStyle {
  Shape shape;
  Stroke stroke;
};

// Colours that colour-blind readers tell apart (Okabe, Ito 2008); marks and dashes differ, too.
LineStyle StyleOf(size_t line) {
  constexpr LineStyle kStyles[] = {
      {Shape::kDisc, {"#0072b2", 2, ""}},        {Shape::kSquare, {"#d55e00", 2, "7 3"}},
      {Shape::kTriangle, {"#009e73", 2, "2 3"}}, {Shape::kCross, {"#8e3a80", 2, "9 3 2 3"}},
      {Shape::kDisc, {"#222222", 2, "12 4"}},    {Shape::kSquare, {"#e69f00", 2, "1 4"}}};
  return kStyles[line % std::size(kStyles)];
}

// Adds a line of what can be drawn of `points`, and `text` as its note.
void AddLine(std::vector<RatePoint> points, const std::string& text, Plot* plot) {
  std::erase_if(points, [](const RatePoint& point) { return !CanBeDrawn(point); });
  const auto less = [](const auto& a, const auto& b) { return a.size < b.size; };
  const auto same = [](const auto& a, const auto& b) { return a.size == b.size; };
  std::stable_sort(points.begin(), points.end(), less);
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  if (points.size() < 2) return;
  const std::string letter(1, static_cast<char>('A' + plot->lines.size() % 26));
  const LineStyle style = StyleOf(plot->lines.size());
  PlotLine line = {.stroke = style.stroke, .shape = style.shape};
  for (const RatePoint& point : points) {
    line.points.push_back({static_cast<double>(point.size), point.rate});
    const v1::Interval& seconds = point.seconds;
    line.y_ends.push_back({point.rate * seconds.expected() / seconds.high(),
                           point.rate * seconds.expected() / seconds.low()});
  }
  plot->marks.push_back({.at = line.points.back(), .letter = letter});
  plot->lines.push_back(std::move(line));
  plot->notes.push_back({{letter, {}, style.stroke, {}, style.shape, style.stroke.color}, text});
}

// The highest of rates and of their intervals.
double TopOf(const Plot& plot) {
  double top = 0;
  for (const PlotLine& line : plot.lines) {
    for (size_t i = 0; i < line.points.size(); ++i) {
      top = std::max({top, line.points[i].y, line.y_ends[i].high});
    }
  }
  return top;
}

// Fits the axis to all sizes, with a margin. Powers of two have labels, each `step` times the one
// before.
void SetSizeAxis(double step, std::string (*label)(double), Plot* plot) {
  double low = HUGE_VAL;
  double high = 0;
  for (const PlotLine& line : plot->lines) {
    low = std::min(low, line.points.front().x);
    high = std::max(high, line.points.back().x);
  }
  const double margin = std::pow(10.0, 0.05);
  plot->x.log = true;
  plot->x.low = low / margin;
  // More after the last: the size in the middle of all is at the left of an axis's middle.
  plot->x.high = (1 + 1e-9) * high * margin;
  for (double size = std::exp2(std::ceil(std::log2(plot->x.low))); size <= plot->x.high;
       size *= step) {
    plot->x.ticks.push_back({size, label(size)});
  }
}

// From 0 to `top` with labels at its quarters.
void SetRateAxis(double top, std::string (*label)(double), Plot* plot) {
  plot->y.high = top;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double at = top * quarter / 4;
    plot->y.ticks.push_back({at, label(at)});
  }
}

// The FLOP/s that a share of 1 means.
double WholeOf(const v1::KernelCurve& curve, bool of_peak) {
  if (of_peak) return curve.peak_flops_per_second();
  double best = 0;
  for (const v1::KernelCurvePoint& point : curve.points()) {
    if (CanBeDrawn({point.size(), point.flops_per_second(), point.duration_seconds()})) {
      best = std::max(best, point.flops_per_second());
    }
  }
  return best;
}

Plot KernelPlotOf(const v1::GetKernelRatesResponse& response, v1::KernelKind kind) {
  bool of_peak = true;
  for (const v1::KernelCurve& curve : response.curves()) {
    if (curve.kind() == kind) of_peak = of_peak && IsAboveZero(curve.peak_flops_per_second());
  }
  const char* whole = of_peak ? "of the datasheet's dense peak" : "of the fastest size";
  Plot out = {.title = absl::StrCat(response.device(), ": ", KernelKindName(kind)),
              .x = {.title = KernelSizeName(kind), .text_title = KernelSizeName(kind)},
              .y = {.title = whole, .text_title = absl::StrCat("share ", whole)},
              .sources = {"Bars: 80 % intervals."}};
  for (const v1::KernelCurve& curve : response.curves()) {
    if (curve.kind() != kind) continue;
    std::vector<RatePoint> points;
    for (const v1::KernelCurvePoint& point : curve.points()) {
      points.push_back({point.size(), point.flops_per_second() / WholeOf(curve, of_peak),
                        point.duration_seconds()});
    }
    AddLine(std::move(points),
            absl::StrCat(EnumName(curve.data_type()), ": ",
                         SourceText(curve.source(), response.sources(), curve.source_number())),
            &out);
  }
  if (out.lines.empty()) return out;
  SetSizeAxis(
      2, [](double size) { return Grouped(size, 0); }, &out);
  SetRateAxis(
      std::clamp(std::ceil(5 * TopOf(out)) / 5, 0.2, 2.0),
      [](double share) { return absl::StrCat(std::lround(100 * share), " %"); }, &out);
  return out;
}

// The least value at or above `value` whose quarters have few digits.
double RoundTop(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double digits : {1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0}) {
    if (digits * power >= value) return digits * power;
  }
  return 10 * power;
}

std::string BytesLabel(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return absl::StrCat(bytes, " ", kUnits[unit]);
}

}  // namespace

std::vector<Plot> KernelPlots(const v1::GetKernelRatesResponse& response) {
  std::vector<v1::KernelKind> kinds;
  std::vector<Plot> out;
  for (const v1::KernelCurve& curve : response.curves()) {
    if (std::find(kinds.begin(), kinds.end(), curve.kind()) != kinds.end()) continue;
    kinds.push_back(curve.kind());
    Plot plot = KernelPlotOf(response, curve.kind());
    if (!plot.lines.empty()) out.push_back(std::move(plot));
  }
  return out;
}

std::string KernelKindName(v1::KernelKind kind) {
  return absl::StrReplaceAll(EnumName(kind), {{"-", " "}});
}

std::string KernelSizeName(v1::KernelKind kind) {
  switch (kind) {
    case v1::KERNEL_KIND_SQUARE_MATMUL:
      return "n of n x n x n";
    case v1::KERNEL_KIND_TOKEN_MATMUL:
      return "tokens m of m x 4096 x 4096";
    case v1::KERNEL_KIND_CAUSAL_ATTENTION:
      return "tokens of a sequence, 32 heads of 128";
    default:
      return "size";
  }
}

Plot LinkPlot(const v1::GetLinkTimesResponse& response) {
  constexpr char kSize[] = "bytes of a rank's buffer, as nccl-tests counts them";
  constexpr char kRate[] = "bus bandwidth, GB/s";
  Plot out = {.title = absl::StrCat("Bus bandwidth: ", LinkGroupName(response.nodes())),
              .x = {.title = kSize, .text_title = kSize},
              .y = {.title = kRate, .text_title = kRate},
              .sources = {"Bars: 80 % intervals."}};
  for (const v1::GetLinkTimesResponse::Exchange& exchange : response.exchanges()) {
    std::vector<RatePoint> points;
    for (const v1::LinkTime& time : exchange.times()) {
      points.push_back(
          {time.size_bytes(), time.bus_bytes_per_second() / 1e9, time.duration_seconds()});
    }
    const std::string name = EnumName(exchange.operation());
    const size_t before = out.lines.size();
    AddLine(std::move(points), name, &out);
    if (out.lines.size() == before) continue;
    const v1::LinkTime& first = exchange.times(0);
    out.sources.push_back(absl::StrCat(
        name, ": ", SourceText(first.source(), response.sources(), first.source_number())));
  }
  if (out.lines.empty()) return out;
  SetSizeAxis(4, BytesLabel, &out);
  SetRateAxis(
      RoundTop(TopOf(out)), [](double rate) { return absl::StrCat(rate); }, &out);
  return out;
}

std::string LinkGroupName(const v1::NodeSpec& nodes) {
  const std::string ranks = absl::StrCat(Grouped(nodes.ranks_per_node()),
                                         nodes.ranks_per_node() == 1 ? " rank" : " ranks");
  if (nodes.node_count() == 1) return absl::StrCat(ranks, " of a node, ", nodes.node_type());
  return absl::StrCat(Grouped(nodes.node_count()), " nodes of ", ranks, ", ", nodes.node_type());
}

}  // namespace sextant::client
