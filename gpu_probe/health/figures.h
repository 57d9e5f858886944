// The figures of a calibration that show a device's speed, in a form in which two calibrations can
// be compared; and measurements grouped by device.
#ifndef SEXTANT_GPU_PROBE_HEALTH_FIGURES_H_
#define SEXTANT_GPU_PROBE_HEALTH_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// One measured rate.
struct RatePoint {
  std::string key;   // the work, e.g. "4096x4096x4096 onednn": only equal work is compared
  double rate = 0;   // in the figure's unit
  double doubt = 0;  // share by which noise may change the rate: 0 where it is stable
  // False where the samples disagree or are few, even if their range, the doubt, is 0.
  bool stable = true;
};

// Rates of one kind; the best one represents the figure.
struct HealthMetric {
  std::string name;  // "matmul bf16", "matmul bf16 sustained", "copy", "elementwise bandwidth"
  std::string unit;  // "FLOP/s" or "B/s"
  std::vector<RatePoint> points;  // at least one; by key, each key once
};

// Matrix multiplication by data type, in bursts and sustained; copy and triad in main memory; the
// bandwidth and the arithmetic of elementwise work. Shapes that a user asked for don't count: they
// don't search for the device's best.
std::vector<HealthMetric> FiguresOf(const v1::Calibration& calibration);

// Null where there is no such figure.
const HealthMetric* FigureNamed(absl::string_view name, const std::vector<HealthMetric>& figures);

// The point with the highest rate.
const RatePoint& BestOf(const HealthMetric& figure);

// For a time that is not stable, half of the range from p10 to p90, over the median; else 0.
double DoubtOf(const v1::TimeStatistics& time);

// The same work on two devices, or at two times.
struct RatePair {
  double log_deficit = 0;  // ln(reference / judged): above 0 where the judged one is slower
  double judged_doubt = 0;
  double reference_doubt = 0;
  bool judged_stable = true;
  bool reference_stable = true;
};

// Compares the best rates over the points that both have. Absent where they have none in common: a
// run with other shapes, or another library, says nothing about the device.
absl::optional<RatePair> CompareFigures(const HealthMetric& judged, const HealthMetric& reference);

// A valid calibration that has at least one figure.
struct MeasuredDevice {
  v1::Calibration calibration;
  std::vector<HealthMetric> figures;
  bool beyond_limit = false;  // one of its rates is impossible: not a reference for anything

  const v1::Device& device() const { return calibration.device(); }
  int64_t unix_seconds() const { return calibration.measured_time().seconds(); }
};

// One device: its newest measurement, which is judged, and the earlier ones, oldest first.
struct KnownDevice {
  MeasuredDevice newest;
  std::vector<MeasuredDevice> older;
};

// Groups by UUID. Copies of one measurement count once: a copy of the judged one is not its
// history.
std::vector<KnownDevice> GroupByDevice(std::vector<MeasuredDevice> all);

// True where two measurements are of devices that should be equally fast: the same product, equal
// numbers of cores or multiprocessors, and power limits within a watt of each other or both not
// reported.
bool IsAlike(const v1::Device& a, const v1::Device& b);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_FIGURES_H_
