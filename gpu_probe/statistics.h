// What a series of timed samples says: median, spread, percentiles, and whether to trust it.
//
// docs/probe.md has the formulas, their sources, and why the limits are what they are.
#ifndef SEXTANT_GPU_PROBE_STATISTICS_H_
#define SEXTANT_GPU_PROBE_STATISTICS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Samples of a point: fewer than the first are not enough to stop early, more than the second
// are never taken.
inline constexpr size_t kMinimumSampleCount = 8;
inline constexpr size_t kMaximumSampleCount = 12;

// Sampling stops early where the 95 % interval of the median is narrower than this share of it.
inline constexpr double kNarrowIntervalRatio = 0.01;

// A point is stable where all of these hold. The first is the fewest samples that have a 95 %
// interval at all; the others are shares of the median.
inline constexpr size_t kStableSampleCount = 6;
inline constexpr double kStableIntervalRatio = 0.05;    // width of the 95 % interval
inline constexpr double kStablePercentileRatio = 0.20;  // p90 - p10
inline constexpr double kStableHalvesRatio = 0.03;      // later half's median from the earlier's

// A range of seconds, both ends included.
struct SecondsInterval {
  double low = 0;
  double high = 0;
};

// The value below which a share of `share` (0 to 1) lies: linear between the two order
// statistics around position share x (n - 1), counted from 0 (definition 7 of Hyndman and Fan).
// `ascending` must be sorted, and not empty.
double Quantile(absl::Span<const double> ascending, double share);

// Quantile(0.5) of unsorted values, of which there must be at least one.
double Median(absl::Span<const double> values);

// An interval that holds the true median with at least 95 %, whatever the distribution: from
// the j-th smallest to the j-th largest sample, where j is the largest with
// 1 - 2 P(Binomial(n, 1/2) < j) >= 0.95. Absent below kStableSampleCount samples.
absl::optional<SecondsInterval> MedianInterval(absl::Span<const double> ascending);

// Whether more samples would not say more: at least kMinimumSampleCount, and an interval of the
// median narrower than kNarrowIntervalRatio.
bool IsNarrow(absl::Span<const double> samples_seconds);

// Sums up samples, each the mean time of `repetition_count` runs, in the order in which they
// were taken. There must be at least one, all of them above 0 and finite. Figures are rounded to 24
// significant bits.
v1::TimeStatistics Summarise(absl::Span<const double> samples_seconds, int64_t repetition_count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_STATISTICS_H_
