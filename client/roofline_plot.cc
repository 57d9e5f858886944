#include "client/roofline_plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/amounts.h"
#include "client/braille_canvas.h"
#include "client/format.h"
#include "client/log_axis.h"
#include "client/table.h"

namespace sextant {
namespace {

constexpr int kPlotColumns = 84;
constexpr int kPlotRows = 20;
constexpr int kPlotMargin = 12;  // columns left of the canvas: a tick's label and the axis

// A canvas with axes: values to dots, and dots to cells.
class AxesPlot {
 public:
  explicit AxesPlot(const RooflineChart& chart)
      : chart_(chart), axes_(AxesOf(chart)), canvas_(kPlotColumns, kPlotRows) {}

  void Draw() {
    DrawRidge();
    for (const Roof& roof : chart_.roofs) DrawRoof(roof.flops_per_second);
    for (const ChartPoint& point : chart_.points) {
      canvas_.Letter(XOf(point.intensity) / 2, YOf(point.flops_per_second) / 4, point.letter);
    }
  }

  // The canvas between its axes.
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

  // From the roof down, a dot a cell.
  void DrawRidge() {
    const double height = chart_.memory_bytes_per_second * chart_.ridge;
    for (int y = YOf(height); y < canvas_.dot_rows(); y += 4) canvas_.Dot(XOf(chart_.ridge), y);
  }

  std::string Axis() const {
    std::string out(kPlotMargin - 1, ' ');
    out += "└";
    std::vector<std::string> cells(kPlotColumns, "─");
    for (const int power : axes_.intensity.Ticks(8)) cells[TickColumn(power)] = "┴";
    for (const std::string& cell : cells) out += cell;
    return absl::StrCat(out, "\n");
  }

  std::string Labels() const {
    std::string out(kPlotMargin + kPlotColumns + 3, ' ');
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
    const bool fits_right = column + 2 + label.size() <= kTextWidth;
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
  Table table(2, {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (const ChartPoint& point : chart.points) {
    table.AddRow({std::string(1, point.letter), point.name, IntensityText(point.intensity),
                  Scaled(point.flops_per_second, "FLOP/s"), TimeText(point.seconds)});
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

std::string RooflinePlot(const RooflineChart& chart) {
  AxesPlot plot(chart);
  plot.Draw();
  return absl::StrCat("\n", Wrap("", absl::StrCat("Roofline of ", chart.title), 2), plot.Text(),
                      Legend(chart));
}

}  // namespace sextant
