// Efficiency of kernels against their size, as pictures show it.
#ifndef SEXTANT_CLIENT_KERNEL_CHART_H_
#define SEXTANT_CLIENT_KERNEL_CHART_H_

#include <string>
#include <vector>

#include "client/log_axis.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// What a chart's axes count.
enum class ChartScale {
  kShare,  // shares of 1 against a number
  kRate,   // GB/s against bytes
};

// Shares of 1, or rates.
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
  double top = 1;     // of the shares' axis, which begins at 0
  double tick = 0.2;  // between its labels; divides `top`
  std::vector<KernelChartLine> lines = {};
  std::vector<std::string> sources = {};
  ChartScale scale = ChartScale::kShare;

  // Labels of the axes: "80 %" or "300"; "4,096" or "4 KiB", of powers of two.
  std::string ShareLabel(double share) const;
  std::string SizeLabel(double power) const;
  // The steps between the labels of sizes, as a factor.
  double SizeStep() const { return scale == ChartScale::kRate ? 4 : 2; }
};

// A chart a kind, in the answer's order. Shares are of the datasheet's dense peak where all of a
// kind have one, else of the fastest size of each line. Sizes and rates that aren't above 0 are
// left out, and lines without two points.
std::vector<KernelChart> KernelChartsOf(const v1::GetKernelRatesResponse& response);

// "square matmul", "token matmul", "causal attention".
std::string KernelKindName(v1::KernelKind kind);

// What the size of a kind is: "n of n x n x n".
std::string KernelSizeName(v1::KernelKind kind);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_KERNEL_CHART_H_
