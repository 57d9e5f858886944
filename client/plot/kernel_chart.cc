#include "client/plot/kernel_chart.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/plot/canvas.h"
#include "client/text/amounts.h"
#include "client/text/sources.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

bool IsAboveZero(double value) { return std::isfinite(value) && value > 0; }

bool CanBeDrawn(const v1::Interval& duration) {
  return IsAboveZero(duration.expected()) && IsAboveZero(duration.low()) &&
         IsAboveZero(duration.high());
}

// `rate`, at the expected time, with its range over the interval.
KernelChartPoint PointOf(int64_t size, double rate, const v1::Interval& duration) {
  return {.size = static_cast<double>(size),
          .share = rate,
          .low = rate * duration.expected() / duration.high(),
          .high = rate * duration.expected() / duration.low()};
}

bool CanBeDrawn(const v1::KernelCurvePoint& point) {
  return point.size() > 0 && IsAboveZero(point.flops_per_second()) &&
         CanBeDrawn(point.duration_seconds());
}

// The FLOP/s that a share of 1 means.
double WholeOf(const v1::KernelCurve& curve, bool of_peak) {
  if (of_peak) return curve.peak_flops_per_second();
  double best = 0;
  for (const v1::KernelCurvePoint& point : curve.points()) {
    if (CanBeDrawn(point)) best = std::max(best, point.flops_per_second());
  }
  return best;
}

KernelChartLine LineOf(const v1::KernelCurve& curve, bool of_peak) {
  KernelChartLine out;
  out.name = EnumName(curve.data_type());
  const double whole = WholeOf(curve, of_peak);
  if (!IsAboveZero(whole)) return out;
  for (const v1::KernelCurvePoint& point : curve.points()) {
    if (!CanBeDrawn(point)) continue;
    out.points.push_back(
        PointOf(point.size(), point.flops_per_second() / whole, point.duration_seconds()));
  }
  return out;
}

std::string SourceLine(const v1::KernelCurve& curve, const SourceList& sources) {
  return absl::StrCat(EnumName(curve.data_type()), ": ",
                      SourceText(curve.source(), sources, curve.source_number()));
}

// Fits the axes to all sizes, with a margin, and to all shares, from 0.
void SetAxes(KernelChart& chart) {
  double low = chart.lines.front().points.front().size;
  double high = low;
  double top = 0;
  for (const KernelChartLine& line : chart.lines) {
    for (const KernelChartPoint& point : line.points) {
      low = std::min(low, point.size);
      high = std::max(high, point.size);
      top = std::max({top, point.share, point.high});
    }
  }
  chart.size = {.low = std::log10(low) - 0.05, .high = std::log10(high) + 0.05};
  chart.top = std::clamp(std::ceil(5 * top) / 5, 0.2, 2.0);  // round ticks
  chart.tick = chart.top <= 0.4 ? 0.1 : 0.2;
}

KernelChart ChartOf(const v1::GetKernelRatesResponse& response, v1::KernelKind kind) {
  bool of_peak = true;
  for (const v1::KernelCurve& curve : response.curves()) {
    if (curve.kind() != kind) continue;
    of_peak = of_peak && IsAboveZero(curve.peak_flops_per_second());
  }
  KernelChart out = {
      .title = absl::StrCat(response.device(), ": ", KernelKindName(kind)),
      .size_label = KernelSizeName(kind),
      .share_label = of_peak ? "of the datasheet's dense peak" : "of the fastest size"};
  for (const v1::KernelCurve& curve : response.curves()) {
    if (curve.kind() != kind) continue;
    KernelChartLine line = LineOf(curve, of_peak);
    if (line.points.size() < 2) continue;
    line.letter = static_cast<char>('A' + out.lines.size() % 26);
    out.lines.push_back(std::move(line));
    out.sources.push_back(SourceLine(curve, response.sources()));
  }
  if (!out.lines.empty()) SetAxes(out);
  return out;
}

constexpr double kGiga = 1e9;

KernelChartLine BandwidthLine(const v1::GetLinkTimesResponse::Exchange& exchange) {
  KernelChartLine out;
  out.name = EnumName(exchange.operation());
  for (const v1::LinkTime& time : exchange.times()) {
    if (time.size_bytes() < 1 || !IsAboveZero(time.bus_bytes_per_second()) ||
        !CanBeDrawn(time.duration_seconds())) {
      continue;
    }
    const double rate = time.bus_bytes_per_second() / kGiga;
    out.points.push_back(PointOf(time.size_bytes(), rate, time.duration_seconds()));
  }
  const auto smaller = [](const auto& a, const auto& b) { return a.size < b.size; };
  const auto same = [](const auto& a, const auto& b) { return a.size == b.size; };
  std::sort(out.points.begin(), out.points.end(), smaller);
  out.points.erase(std::unique(out.points.begin(), out.points.end(), same), out.points.end());
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

// Fits the axes to all sizes, with a margin, and to all rates, from 0.
void FitRateAxes(KernelChart& chart) {
  double low = INFINITY;
  double high = 0;
  double top = 0;
  for (const KernelChartLine& line : chart.lines) {
    low = std::min(low, line.points.front().size);
    high = std::max(high, line.points.back().size);
    for (const KernelChartPoint& point : line.points)
      top = std::max({top, point.share, point.high});
  }
  chart.size = {.low = std::log10(low) - 0.05, .high = std::log10(high) + 0.05};
  chart.top = RoundTop(top);
  chart.tick = chart.top / 4;
}

std::string SourceLine(const std::string& name, const v1::LinkTime& time,
                       const SourceList& sources) {
  return absl::StrCat(name, ": ", SourceText(time.source(), sources, time.source_number()));
}

constexpr int kChartRows = 16;
constexpr int kChartMargin = 8;  // columns left of the canvas: a tick's label and the axis

class ChartPlot {
 public:
  explicit ChartPlot(const KernelChart& chart)
      : chart_(chart), canvas_(static_cast<int>(PlotColumns()), kChartRows) {
    for (const KernelChartLine& line : chart_.lines) DrawLine(line);
    for (const KernelChartLine& line : chart_.lines) {
      const KernelChartPoint& last = line.points.back();
      canvas_.Letter(XOf(last.size) / 2, YOf(last.share) / 4, line.letter);
    }
  }

  std::string Text() const {
    const std::vector<std::string> rows = canvas_.Rows();
    const bool shares = chart_.scale == ChartScale::kShare;
    std::string out = absl::StrCat(shares ? "  share " : "  ", chart_.share_label, "\n");
    for (int i = 0; i < kChartRows; ++i) {
      const std::string label = RowLabel(i);
      const std::string& row = rows[static_cast<size_t>(i)];
      absl::StrAppend(&out, std::string(kChartMargin - 2 - label.size(), ' '), label,
                      label.empty() ? " │" : " ┤", row.substr(0, row.find_last_not_of(' ') + 1),
                      "\n");
    }
    return absl::StrCat(out, Axis());
  }

 private:
  int XOf(double size) const { return DotOf(chart_.size.Fraction(size), canvas_.dot_columns()); }
  int YOf(double share) const { return DotOf(1 - share / chart_.top, canvas_.dot_rows()); }
  static int DotOf(double fraction, int dots) {
    return static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * (dots - 1)));
  }

  void DrawLine(const KernelChartLine& line) {
    for (size_t i = 1; i < line.points.size(); ++i) {
      const KernelChartPoint& from = line.points[i - 1];
      const KernelChartPoint& to = line.points[i];
      canvas_.Line(XOf(from.size), YOf(from.share), XOf(to.size), YOf(to.share));
    }
  }

  // The label of a row at a quarter of the axis; "" for other rows.
  std::string RowLabel(int row) const {
    for (int quarter = 0; quarter <= 4; ++quarter) {
      const double share = chart_.top * quarter / 4;
      if (YOf(share) / 4 == row) return chart_.ShareLabel(share);
    }
    return "";
  }

  // The axis with the powers of two that are on it; a label that would touch the one before is left
  // out.
  std::string Axis() const {
    std::string line(kChartMargin - 1, ' ');
    line += "└";
    std::vector<std::string> cells(PlotColumns(), "─");
    std::string labels(static_cast<size_t>(kChartMargin) + PlotColumns() + 6, ' ');
    size_t free_from = 0;
    for (double size = std::exp2(std::ceil(std::log2(chart_.size.ValueAt(0))));
         size <= chart_.size.ValueAt(1); size *= chart_.SizeStep()) {
      const auto column = static_cast<size_t>(XOf(size) / 2);
      const std::string label = chart_.SizeLabel(size);
      const size_t at = kChartMargin + column - std::min(column + kChartMargin, label.size() / 2);
      if (at < free_from || at + label.size() > labels.size()) continue;
      cells[column] = "┴";
      labels.replace(at, label.size(), label);
      free_from = at + label.size() + 1;
    }
    for (const std::string& cell : cells) line += cell;
    return absl::StrCat(line, "\n", labels.substr(0, labels.find_last_not_of(' ') + 1), "\n  ",
                        chart_.size_label, "\n");
  }

  const KernelChart& chart_;
  BrailleCanvas canvas_;
};

std::string Legend(const KernelChart& chart) {
  std::string out;
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    out +=
        Wrap(absl::StrCat("  ", std::string(1, chart.lines[i].letter), "  "), chart.sources[i], 5);
  }
  return out;
}

}  // namespace

std::string KernelChart::ShareLabel(double share) const {
  if (scale == ChartScale::kShare) return absl::StrCat(std::lround(100 * share), " %");
  return absl::StrCat(share);
}

std::string KernelChart::SizeLabel(double power) const {
  if (scale == ChartScale::kShare) return Grouped(static_cast<int64_t>(power));
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (power >= 1024 && unit + 1 < std::size(kUnits)) {
    power /= 1024;
    ++unit;
  }
  return absl::StrCat(power, " ", kUnits[unit]);
}

std::vector<KernelChart> KernelChartsOf(const v1::GetKernelRatesResponse& response) {
  std::vector<v1::KernelKind> kinds;
  for (const v1::KernelCurve& curve : response.curves()) {
    if (std::find(kinds.begin(), kinds.end(), curve.kind()) == kinds.end()) {
      kinds.push_back(curve.kind());
    }
  }
  std::vector<KernelChart> out;
  for (const v1::KernelKind kind : kinds) {
    KernelChart chart = ChartOf(response, kind);
    if (!chart.lines.empty()) out.push_back(std::move(chart));
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

KernelChart LinkChartOf(const v1::GetLinkTimesResponse& response) {
  KernelChart out = {.title = absl::StrCat("Bus bandwidth: ", LinkGroupName(response.nodes())),
                     .size_label = "bytes of a rank's buffer, as nccl-tests counts them",
                     .share_label = "bus bandwidth, GB/s",
                     .scale = ChartScale::kRate};
  for (const v1::GetLinkTimesResponse::Exchange& exchange : response.exchanges()) {
    KernelChartLine line = BandwidthLine(exchange);
    if (line.points.size() < 2) continue;
    line.letter = static_cast<char>('A' + out.lines.size() % 26);
    out.sources.push_back(SourceLine(line.name, exchange.times(0), response.sources()));
    out.lines.push_back(std::move(line));
  }
  if (!out.lines.empty()) FitRateAxes(out);
  return out;
}

std::string LinkGroupName(const v1::NodeSpec& nodes) {
  const std::string ranks = absl::StrCat(Grouped(nodes.ranks_per_node()),
                                         nodes.ranks_per_node() == 1 ? " rank" : " ranks");
  if (nodes.node_count() == 1) return absl::StrCat(ranks, " of a node, ", nodes.node_type());
  return absl::StrCat(Grouped(nodes.node_count()), " nodes of ", ranks, ", ", nodes.node_type());
}

std::string KernelChartPlot(const KernelChart& chart) {
  return absl::StrCat("\n", Wrap("", chart.title, 2), ChartPlot(chart).Text(), Legend(chart));
}

}  // namespace sextant::client
