// Statistics of a series of timed samples: median, spread, percentiles, and stability.
//
// docs/probe.md has the formulas, their sources, and the reasons for the limits.
#ifndef SEXTANT_GPU_PROBE_STATISTICS_H_
#define SEXTANT_GPU_PROBE_STATISTICS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// Samples of a point: sampling never stops early below the first number, and never exceeds the
// second.
inline constexpr size_t kMinSampleCount = 8;
inline constexpr size_t kMaxSampleCount = 12;

// Sampling stops early where the 95 % interval of the median is narrower than this share of it.
inline constexpr double kNarrowIntervalRatio = 0.01;

// A point is stable where all of these hold. The first is the least number of samples with a 95 %
// interval; the others are shares of the median.
inline constexpr size_t kStableSampleCount = 6;
inline constexpr double kStableIntervalRatio = 0.05;    // width of the 95 % interval
inline constexpr double kStablePercentileRatio = 0.20;  // p90 - p10
inline constexpr double kStableHalvesRatio = 0.03;      // difference of the two halves' medians

// A range of seconds, both ends included.
struct SecondsInterval {
  double low = 0;
  double high = 0;
};

// The quantile at `share` (0 to 1): linear between the two order statistics around position share x
// (n - 1), counted from 0 (definition 7 of Hyndman and Fan). `ascending` must be sorted, and not
// empty.
double Quantile(absl::Span<const double> ascending, double share);

// Quantile(0.5) of unsorted values; there must be at least one.
double Median(absl::Span<const double> values);

// An interval that holds the true median with a probability of at least 95 %, for any distribution:
// from the j-th smallest to the j-th largest sample, where j is the largest with 1 - 2
// P(Binomial(n, 1/2) < j) >= 0.95. Absent below kStableSampleCount samples.
absl::optional<SecondsInterval> MedianInterval(absl::Span<const double> ascending);

// True where more samples would add little: at least kMinSampleCount, and an interval of the
// median narrower than kNarrowIntervalRatio.
bool IsNarrow(absl::Span<const double> samples_seconds);

// Summarises samples, each the mean time of `repetition_count` runs, in the order in which they
// were taken. There must be at least one, all above 0 and finite. Figures are rounded to 24
// significant bits.
v1::TimeStatistics Summarise(absl::Span<const double> samples_seconds, int64_t repetition_count);

// Widens the relative spread to the largest difference between `window_medians`, which are parts of
// the samples, over the median: windows that are seconds apart may differ by more than samples of
// one of them.
void WidenToWindows(absl::Span<const double> window_medians, v1::TimeStatistics* time);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_STATISTICS_H_
