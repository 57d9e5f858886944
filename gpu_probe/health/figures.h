// The figures of a calibration that say how fast a device is, in a form that two calibrations
// can be compared in.
#ifndef SEXTANT_GPU_PROBE_HEALTH_FIGURES_H_
#define SEXTANT_GPU_PROBE_HEALTH_FIGURES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// One measured rate.
struct RatePoint {
  std::string key;   // what was run, e.g. "4096x4096x4096 onednn": only the same is compared
  double rate = 0;   // in the figure's unit
  double doubt = 0;  // share by which the rate may be off for noise: 0 where it is stable
};

// Rates of one kind; the best of them stands for all.
struct Figure {
  std::string name;  // "matmul bf16", "matmul bf16 sustained", "copy", "elementwise bandwidth"
  std::string unit;  // "FLOP/s" or "B/s"
  std::vector<RatePoint> points;  // at least one; by key, each key once
};

// Matrix multiplication by data type, in bursts and sustained; copy and triad in main memory;
// the bandwidth and the arithmetic of elementwise work. Shapes that were asked for don't count:
// they are no search for the device's best.
std::vector<Figure> FiguresOf(const v1::Calibration& calibration);

// Absent: null.
const Figure* FigureNamed(absl::string_view name, const std::vector<Figure>& figures);

// The point with the highest rate.
const RatePoint& BestOf(const Figure& figure);

// Half of the range from p10 to p90, over the median, of a time that is not stable; else 0.
double DoubtOf(const v1::TimeStatistics& time);

// The same work on two devices, or at two times.
struct RatePair {
  double log_deficit = 0;  // ln(reference / judged): above 0 where the judged one is slower
  double judged_doubt = 0;
  double reference_doubt = 0;
};

// Compares the best rates over the points that both have. Absent where they have none in common:
// a run with other shapes, or another library, says nothing of the device.
absl::optional<RatePair> CompareFigures(const Figure& judged, const Figure& reference);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_FIGURES_H_
