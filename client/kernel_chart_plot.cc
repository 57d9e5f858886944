#include "client/kernel_chart_plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/amounts.h"
#include "client/braille_canvas.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

constexpr int kChartColumns = 84;
constexpr int kChartRows = 16;
constexpr int kChartMargin = 8;  // columns left of the canvas: a tick's label and the axis

class ChartPlot {
 public:
  explicit ChartPlot(const KernelChart& chart) : chart_(chart), canvas_(kChartColumns, kChartRows) {
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

  // Of the rows at a quarter of the axis each.
  std::string RowLabel(int row) const {
    for (int quarter = 0; quarter <= 4; ++quarter) {
      const double share = chart_.top * quarter / 4;
      if (YOf(share) / 4 == row) return chart_.ShareLabel(share);
    }
    return "";
  }

  // Powers of two that are on the axis, each other where they would touch.
  std::string Axis() const {
    std::string line(kChartMargin - 1, ' ');
    line += "└";
    std::vector<std::string> cells(kChartColumns, "─");
    std::string labels(kChartMargin + kChartColumns + 6, ' ');
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

std::string KernelChartPlot(const KernelChart& chart) {
  return absl::StrCat("\n", Wrap("", chart.title, 2), ChartPlot(chart).Text(), Legend(chart));
}

}  // namespace sextant
