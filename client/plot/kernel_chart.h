// Charts of kernels' efficiency, or of exchanges' bus bandwidth, over size: their data, and their
// plot in a terminal. pictures.h draws them as SVG.
#ifndef SEXTANT_CLIENT_PLOT_KERNEL_CHART_H_
#define SEXTANT_CLIENT_PLOT_KERNEL_CHART_H_

#include <string>
#include <vector>

#include "client/plot/canvas.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::client {

// The units of a chart's axes.
enum class ChartScale {
  kShare,  // shares of 1 over a number
  kRate,   // GB/s over bytes
};

// One size; `share`, `low` and `high` are shares of 1, or rates.
struct KernelChartPoint {
  double size = 1;
  double share = 0;
  double low = 0;   // at the slow end of the time's interval
  double high = 0;  // at the fast end
};

struct KernelChartLine {
  char letter = 'A';
  std::string name;
  std::vector<KernelChartPoint> points;  // from small to large
};

// One kind of kernel, a line a data type.
struct KernelChart {
  std::string title;       // "h200-sxm: square matmul"
  std::string size_label;  // "n of n x n x n"
  std::string share_label;
  LogAxis size = {};
  double top = 1;     // end of the axis of shares, which begins at 0
  double tick = 0.2;  // distance between its labels; divides `top`
  std::vector<KernelChartLine> lines = {};
  std::vector<std::string> sources = {};
  ChartScale scale = ChartScale::kShare;

  // Labels of the axes: "80 %" or "300"; "4,096" or, for powers of two, "4 KiB".
  std::string ShareLabel(double share) const;
  std::string SizeLabel(double power) const;
  // The factor between the labels of sizes.
  double SizeStep() const { return scale == ChartScale::kRate ? 4 : 2; }
};

// One chart a kind, in the answer's order. Shares are of the datasheet's dense peak where every
// curve of the kind has one, else of each line's fastest size. Sizes and rates that aren't above 0
// are left out, and so are lines of fewer than two points.
std::vector<KernelChart> KernelChartsOf(const v1::GetKernelRatesResponse& response);

// "square matmul", "token matmul", "causal attention".
std::string KernelKindName(v1::KernelKind kind);

// The meaning of a kind's size: "n of n x n x n".
std::string KernelSizeName(v1::KernelKind kind);

// One line an operation, in GB/s. Values that aren't above 0 are left out, and so are lines of
// fewer than two sizes.
KernelChart LinkChartOf(const v1::GetLinkTimesResponse& response);

// "2 nodes of 8 ranks, dgx-h100".
std::string LinkGroupName(const v1::NodeSpec& nodes);

// The chart in text, every line ended. Each curve's letter is at its largest size.
std::string KernelChartPlot(const KernelChart& chart);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_KERNEL_CHART_H_
