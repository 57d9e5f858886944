#include "client/plot/roofline_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/plot/canvas.h"
#include "client/text/amounts.h"
#include "client/text/sources.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr int64_t kRooflineTitleWidth = 66;  // characters of a title that fit above a drawing

// True where a logarithmic axis can hold the value, ten times it and a tenth of it.
bool IsDrawable(double value) { return value > 1e-100 && value < 1e100; }

bool IsMemory(const v1::RateUsed& rate) { return rate.unit() == "byte/s"; }

bool IsGeneral(const v1::RateUsed& rate) { return absl::StrContains(rate.quantity(), "general"); }

// Groups figures by source: those of one source share a line.
class Sources {
 public:
  // `known` outlives this.
  explicit Sources(const SourceList& known) : known_(known) {}

  void Add(const std::string& what, const v1::RateUsed& rate) {
    const std::string figure = absl::StrCat(what, " ", WithUnit(rate.value(), rate.unit()));
    const std::string source = SourceText(rate.source(), known_, rate.source_number());
    for (auto& [earlier, figures] : figures_) {
      if (earlier != source) continue;
      absl::StrAppend(&figures, ", ", figure);
      return;
    }
    figures_.push_back({source, figure});
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const auto& [source, figures] : figures_) {
      lines.push_back(absl::StrCat(figures, ": ", source));
    }
    return lines;
  }

 private:
  const SourceList& known_;
  std::vector<std::pair<std::string, std::string>> figures_;  // by source, in order
};

// The roofs with their sources.
void AddRates(const v1::OperationTime& time, RooflineChart* chart) {
  std::optional<Roof> general;
  Sources sources(time.sources());
  for (const v1::RateUsed& rate : time.rates()) {
    if (IsMemory(rate)) {
      chart->memory_bytes_per_second = rate.value();
      sources.Add("memory", rate);
    } else if (IsGeneral(rate)) {
      general = Roof{"other arithmetic", rate.value()};
      sources.Add("other arithmetic", rate);
    } else if (absl::EndsWith(rate.unit(), "OP/s") && chart->roofs.empty()) {
      chart->roofs.push_back({"matrix products", rate.value()});
      sources.Add("matrix products", rate);
    }
  }
  chart->sources = sources.Lines();
  if (chart->roofs.empty()) return;
  if (!general.has_value() || general->flops_per_second == chart->roofs[0].flops_per_second) {
    chart->roofs[0].name = "all arithmetic";
  } else {
    chart->roofs.push_back(*general);
  }
}

// A point of `sum` in `seconds`, or as predicted, where there is a prediction.
void AddPoint(const std::string& name, const v1::CostSum& sum, double seconds,
              const v1::KernelPrediction* prediction, RooflineChart* chart) {
  const double flops = TotalFlops(sum);
  const auto letter = static_cast<char>(name[0] - 'a' + 'A');
  if (prediction != nullptr) seconds = prediction->duration_seconds().expected();
  ChartPoint point = {.name = name,
                      .letter = letter,
                      .intensity = sum.arithmetic_intensity(),
                      .flops_per_second = seconds > 0 ? flops / seconds : 0,
                      .seconds = seconds};
  if (prediction != nullptr) {
    const double low = flops / prediction->duration_seconds().high();
    const double high = flops / prediction->duration_seconds().low();
    if (IsDrawable(low) && IsDrawable(high)) point.flops_per_second_range = {low, high};
  }
  if (IsDrawable(point.intensity) && IsDrawable(point.flops_per_second)) {
    chart->points.push_back(std::move(point));
  } else {
    chart->absent.push_back(absl::StrCat(name, " has no point: it ",
                                         flops > 0 ? "moves no bytes" : "does no arithmetic"));
  }
}

void AddPoints(const v1::AnalyzeOperationResponse& response, RooflineChart* chart) {
  const v1::OperationTime& time = response.time();
  AddPoint("forward", response.forward().sum(), time.forward().total_seconds(),
           time.has_predicted_forward() ? &time.predicted_forward() : nullptr, chart);
  if (time.has_unfused()) {
    AddPoint("unfused", response.unfused().sum(), time.unfused().total_seconds(),
             time.has_predicted_unfused() ? &time.predicted_unfused() : nullptr, chart);
  }
  if (time.has_backward()) {
    AddPoint("backward", response.backward().cost().sum(), time.backward().total_seconds(),
             time.has_predicted_backward() ? &time.predicted_backward() : nullptr, chart);
  }
  if (time.has_utilisation()) {
    AddPoint("achieved", response.forward().sum(), time.utilisation().achieved_seconds(), nullptr,
             chart);
  }
}

// The title, with the operands' shapes, or the first one's, where there is room.
std::string TitleOf(const v1::AnalyzeOperationResponse& response) {
  const std::string name = absl::StrReplaceAll(response.name(), {{"_", "-"}});
  const std::string place = absl::StrCat(" in ", DataTypeName(response.data_types().input()),
                                         " on ", DeviceOf(response.time()));
  std::vector<std::string> operands;
  for (const v1::OperationArray& operand : response.operands()) {
    operands.push_back(absl::StrCat(operand.name(), " ", SizesText(operand.shape())));
  }
  for (; !operands.empty(); operands.resize(operands.size() > 1 ? 1 : 0)) {
    std::string title = absl::StrCat(name, " of ", absl::StrJoin(operands, ", "), place);
    if (DisplayWidth(title) <= kRooflineTitleWidth) return title;
  }
  return absl::StrCat(name, place);
}

// Factor between a point and the edge, so that no mark is cut.
constexpr double kAxisMargin = 1.6;

// Least factor of the slope that is shown below the ridge.
constexpr double kSlope = 50;

LogAxis AxisAround(double smallest, double largest) {
  return {.low = std::log10(smallest / kAxisMargin), .high = std::log10(largest * kAxisMargin)};
}

constexpr int kPlotRows = 20;
constexpr int kPlotMargin = 12;  // columns left of the canvas: a tick's label and the axis

// A canvas with axes: maps values to dots, and dots to cells.
class AxesPlot {
 public:
  explicit AxesPlot(const RooflineChart& chart)
      : chart_(chart), axes_(AxesOf(chart)), canvas_(static_cast<int>(PlotColumns()), kPlotRows) {}

  void Draw() {
    DrawRidge();
    for (const Roof& roof : chart_.roofs) DrawRoof(roof.flops_per_second);
    for (const ChartPoint& point : chart_.points) {
      if (!point.flops_per_second_range.has_value()) continue;
      const int x = XOf(point.intensity);
      canvas_.Line(x, YOf(point.flops_per_second_range->low), x,
                   YOf(point.flops_per_second_range->high));
    }
    for (const ChartPoint& point : chart_.points) {
      canvas_.Letter(XOf(point.intensity) / 2, YOf(point.flops_per_second) / 4, point.letter);
    }
  }

  // The canvas with its axes.
  std::string Text() const {
    std::vector<std::string> labels(kPlotRows);
    for (const int power : axes_.flops_per_second.Ticks(6)) {
      const int row = YOf(std::pow(10.0, power)) / 4;
      labels[static_cast<size_t>(row)] = PowerText(power);
    }
    std::string out = "  FLOP/s\n";
    const std::vector<std::string> rows = canvas_.Rows();
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string pad(kPlotMargin - 2 - labels[i].size(), ' ');
      absl::StrAppend(&out, pad, labels[i], labels[i].empty() ? " │" : " ┤",
                      rows[i].substr(0, rows[i].find_last_not_of(' ') + 1), "\n");
    }
    return absl::StrCat(out, Axis(), Labels(), RidgeLabel());
  }

 private:
  int XOf(double intensity) const {
    return DotOf(axes_.intensity.Fraction(intensity), canvas_.dot_columns());
  }
  int YOf(double flops_per_second) const {
    return DotOf(1 - axes_.flops_per_second.Fraction(flops_per_second), canvas_.dot_rows());
  }
  static int DotOf(double fraction, int dots) {
    return static_cast<int>(std::lround(std::clamp(fraction, -1.0, 2.0) * (dots - 1)));
  }

  void DrawRoof(double flops_per_second) {
    const LogAxis& x = axes_.intensity;
    const double corner = flops_per_second / chart_.memory_bytes_per_second;
    const double left = x.ValueAt(0);
    if (left < corner) {
      canvas_.Line(XOf(left), YOf(RoofAt(chart_, flops_per_second, left)), XOf(corner),
                   YOf(flops_per_second));
    }
    canvas_.Line(XOf(corner), YOf(flops_per_second), XOf(x.ValueAt(1)), YOf(flops_per_second));
  }

  // From the roof down, one dot a cell.
  void DrawRidge() {
    const double height = chart_.memory_bytes_per_second * chart_.ridge;
    for (int y = YOf(height); y < canvas_.dot_rows(); y += 4) canvas_.Dot(XOf(chart_.ridge), y);
  }

  std::string Axis() const {
    std::string out(kPlotMargin - 1, ' ');
    out += "└";
    std::vector<std::string> cells(PlotColumns(), "─");
    for (const int power : axes_.intensity.Ticks(8)) cells[TickColumn(power)] = "┴";
    for (const std::string& cell : cells) out += cell;
    return absl::StrCat(out, "\n");
  }

  std::string Labels() const {
    std::string out(static_cast<size_t>(kPlotMargin) + PlotColumns() + 3, ' ');
    for (const int power : axes_.intensity.Ticks(8)) {
      const std::string label = PowerText(power);
      const size_t column = kPlotMargin + TickColumn(power) - label.size() / 2;
      out.replace(std::min(column, out.size() - label.size()), label.size(), label);
    }
    return absl::StrCat(out.substr(0, out.find_last_not_of(' ') + 1), "\n");
  }

  std::string RidgeLabel() const {
    const std::string label = absl::StrCat("ridge ", IntensityText(chart_.ridge));
    const size_t column = kPlotMargin + static_cast<size_t>(XOf(chart_.ridge) / 2);
    const std::string title = "  arithmetic intensity, FLOP/byte";
    const bool fits_right = column + 2 + label.size() <= TextWidth();
    const size_t start = fits_right ? column : column - label.size() - 1;
    const std::string mark = fits_right ? absl::StrCat("^ ", label) : absl::StrCat(label, " ^");
    if (start >= title.size() + 2) {
      return absl::StrCat(title, std::string(start - title.size(), ' '), mark, "\n");
    }
    return absl::StrCat(std::string(start, ' '), mark, "\n", title, "\n");
  }

  size_t TickColumn(int power) const { return static_cast<size_t>(XOf(std::pow(10.0, power)) / 2); }

  const RooflineChart& chart_;
  const ChartAxes axes_;
  BrailleCanvas canvas_;
};

std::string Legend(const RooflineChart& chart) {
  Table table(
      2, {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const ChartPoint& point : chart.points) {
    table.AddRow({std::string(1, point.letter), point.name, IntensityText(point.intensity),
                  Scaled(point.flops_per_second, "FLOP/s"), TimeText(point.seconds),
                  PointBasisText(point)});
  }
  std::string roofs =
      absl::StrCat("memory ", Scaled(chart.memory_bytes_per_second, "B/s"), " (the slope)");
  for (const Roof& roof : chart.roofs) {
    absl::StrAppend(&roofs, ", ", roof.name, " ", Scaled(roof.flops_per_second, "FLOP/s"));
  }
  std::string out = absl::StrCat(table.Text(), Wrap("  roofs: ", roofs, 4));
  for (const std::string& absent : chart.absent) out += Wrap("  ", absent, 4);
  return out;
}

}  // namespace

absl::StatusOr<RooflineChart> RooflineChartOf(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_time()) {
    return absl::FailedPreconditionError("there is no roofline: the answer is of no device");
  }
  RooflineChart chart;
  chart.title = TitleOf(response);
  chart.ridge = response.time().forward().ridge_flops_per_byte();
  AddRates(response.time(), &chart);
  AddPoints(response, &chart);
  const bool drawable = IsDrawable(chart.memory_bytes_per_second) && IsDrawable(chart.ridge) &&
                        !chart.roofs.empty() &&
                        std::all_of(chart.roofs.begin(), chart.roofs.end(), [](const Roof& roof) {
                          return IsDrawable(roof.flops_per_second);
                        });
  if (drawable) return chart;
  return absl::FailedPreconditionError(
      "there is no roofline: the answer lacks the rates of matrix products or of memory");
}

std::string PointBasisText(const ChartPoint& point) {
  if (const auto& range = point.flops_per_second_range; range.has_value()) {
    return absl::StrCat("predicted, ", Scaled(range->low, "FLOP/s"), " to ",
                        Scaled(range->high, "FLOP/s"), " (80 %)");
  }
  return point.name == "achieved" ? "measured" : "at most";
}

double RoofAt(const RooflineChart& chart, double roof_flops_per_second, double intensity) {
  return std::min(roof_flops_per_second, chart.memory_bytes_per_second * intensity);
}

ChartAxes AxesOf(const RooflineChart& chart) {
  double smallest = chart.ridge / kSlope;
  double largest = chart.ridge * 10;
  double slowest = chart.roofs[0].flops_per_second;
  double fastest = slowest;
  for (const Roof& roof : chart.roofs) {
    smallest = std::min(smallest, roof.flops_per_second / chart.memory_bytes_per_second);
    largest = std::max(largest, roof.flops_per_second / chart.memory_bytes_per_second);
    fastest = std::max(fastest, roof.flops_per_second);
  }
  for (const ChartPoint& point : chart.points) {
    smallest = std::min(smallest, point.intensity);
    largest = std::max(largest, point.intensity);
    slowest = std::min(slowest, point.flops_per_second);
    fastest = std::max(fastest, point.flops_per_second);
    if (!point.flops_per_second_range.has_value()) continue;
    slowest = std::min(slowest, point.flops_per_second_range->low);
    fastest = std::max(fastest, point.flops_per_second_range->high);
  }
  ChartAxes axes;
  axes.intensity = AxisAround(smallest, largest);
  slowest = std::min(slowest, chart.memory_bytes_per_second * smallest);
  axes.flops_per_second = AxisAround(slowest, fastest);
  return axes;
}

std::string RooflinePlot(const RooflineChart& chart) {
  AxesPlot plot(chart);
  plot.Draw();
  return absl::StrCat("\n", Wrap("", absl::StrCat("Roofline of ", chart.title), 2), plot.Text(),
                      Legend(chart));
}

}  // namespace sextant::client
