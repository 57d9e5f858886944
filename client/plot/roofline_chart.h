// A roofline: attained FLOP/s over arithmetic intensity, below the roofs of a device: its data, its
// axes, and its plot in a terminal. pictures.h draws it as SVG.
#ifndef SEXTANT_CLIENT_PLOT_ROOFLINE_CHART_H_
#define SEXTANT_CLIENT_PLOT_ROOFLINE_CHART_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/plot/canvas.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

// A rate that arithmetic can't exceed.
struct Roof {
  std::string name;
  double flops_per_second = 0;
};

struct ChartPoint {
  std::string name;      // "forward"
  char letter = ' ';     // "F"
  double intensity = 0;  // FLOP a byte
  double flops_per_second = 0;
  double seconds = 0;  // predicted from measured kernels where they are known, else the roof's
  // The ends of a prediction's 80 % interval.
  struct Range {
    double low;
    double high;
  };
  std::optional<Range> flops_per_second_range = {};
};

struct RooflineChart {
  std::string title;
  double memory_bytes_per_second = 0;
  double ridge = 0;                  // of the forward pass, FLOP a byte
  std::vector<Roof> roofs;           // matrix products, and other arithmetic where it has its own
  std::vector<ChartPoint> points;    // forward, unfused, backward, achieved, as far as there are
  std::vector<std::string> absent;   // sentences: which point is missing, and why
  std::vector<std::string> sources;  // "memory 3.35 TB/s: datasheet, ..."
};

// Errors: kFailedPrecondition where the answer names no device, or has rates that are zero or not
// finite and can't be drawn.
absl::StatusOr<RooflineChart> RooflineChartOf(const v1::AnalyzeOperationResponse& response);

// Where a point's time is from: "predicted, 700 TFLOP/s to 800 TFLOP/s (80 %)", "measured" or "at
// most", the roof's.
std::string PointBasisText(const ChartPoint& point);

// The most FLOP/s that `intensity` allows under a roof.
double RoofAt(const RooflineChart& chart, double roof_flops_per_second, double intensity);

// Both axes of a roofline. They hold all points, the roofs, and enough of the slope to span two
// powers of ten.
struct ChartAxes {
  LogAxis intensity;
  LogAxis flops_per_second;
};

ChartAxes AxesOf(const RooflineChart& chart);

// A section "Roofline": at most TextWidth() columns, legible without colour. The legend below it
// lists every point's figures and the roofs.
std::string RooflinePlot(const RooflineChart& chart);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_ROOFLINE_CHART_H_
