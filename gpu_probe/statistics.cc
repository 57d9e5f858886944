#include "gpu_probe/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sextant::probe {
namespace {

// Converts the median absolute deviation of normal noise into its standard deviation: 1 / (the 75 %
// quantile of the standard normal distribution).
constexpr double kNormalScale = 1.4826;

constexpr double kConfidence = 0.95;

std::vector<double> Sorted(absl::Span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  std::sort(out.begin(), out.end());
  return out;
}

// Compares the later half of the samples with the earlier one. For an odd number the middle sample
// is in both halves.
double HalvesRatio(absl::Span<const double> samples_seconds) {
  const size_t half = (samples_seconds.size() + 1) / 2;
  const double earlier = Median(samples_seconds.first(half));
  const double later = Median(samples_seconds.last(half));
  return std::abs(later / earlier - 1);
}

constexpr int kSignificantBits = 24;

// Rounds to a relative 6e-8, far below any spread. The other 29 bits of a double would be noise,
// which does not compress: a fifth of a calibration
// (tests/gpu_probe/cuda/calibration_size_test.cc). Does not cast to float: GCC 12.2's vectoriser
// drops a pair of such casts (-O2, x86-64).
double Rounded(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, kSignificantBits)),
                    exponent - kSignificantBits);
}

}  // namespace

double Quantile(absl::Span<const double> ascending, double share) {
  const double position = share * static_cast<double>(ascending.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  const double weight = position - static_cast<double>(below);
  return ascending[below] + weight * (ascending[above] - ascending[below]);
}

double Median(absl::Span<const double> values) { return Quantile(Sorted(values), 0.5); }

absl::optional<SecondsInterval> MedianInterval(absl::Span<const double> ascending) {
  const size_t n = ascending.size();
  // The probability that fewer than j of n samples are below the median, for j = 1, 2, ...
  double exactly = std::pow(0.5, static_cast<double>(n));
  double fewer = exactly;
  size_t j = 0;
  while (2 * (j + 1) <= n && 1 - 2 * fewer >= kConfidence) {
    ++j;
    exactly *= static_cast<double>(n - j + 1) / static_cast<double>(j);
    fewer += exactly;
  }
  if (j == 0) return absl::nullopt;
  return SecondsInterval{.low = ascending[j - 1], .high = ascending[n - j]};
}

bool IsNarrow(absl::Span<const double> samples_seconds) {
  if (samples_seconds.size() < kMinSampleCount) return false;
  const std::vector<double> ascending = Sorted(samples_seconds);
  const absl::optional<SecondsInterval> interval = MedianInterval(ascending);
  return interval.has_value() &&
         interval->high - interval->low < kNarrowIntervalRatio * Quantile(ascending, 0.5);
}

v1::TimeStatistics Summarise(absl::Span<const double> samples_seconds, int64_t repetition_count) {
  const std::vector<double> ascending = Sorted(samples_seconds);
  const double median = Quantile(ascending, 0.5);
  std::vector<double> deviations;
  deviations.reserve(ascending.size());
  for (const double sample : ascending) deviations.push_back(std::abs(sample - median));

  v1::TimeStatistics out;
  const double p10 = Quantile(ascending, 0.1);
  const double p90 = Quantile(ascending, 0.9);
  out.set_median_seconds(Rounded(median));
  out.set_relative_spread(Rounded(kNormalScale * Median(deviations) / median));
  out.set_p10_seconds(Rounded(p10));
  out.set_p90_seconds(Rounded(p90));
  out.set_sample_count(static_cast<int32_t>(ascending.size()));
  out.set_repetition_count(repetition_count);

  const absl::optional<SecondsInterval> interval = MedianInterval(ascending);
  out.set_stable(ascending.size() >= kStableSampleCount && interval.has_value() &&
                 interval->high - interval->low <= kStableIntervalRatio * median &&
                 p90 - p10 <= kStablePercentileRatio * median &&
                 HalvesRatio(samples_seconds) <= kStableHalvesRatio);
  return out;
}

void WidenToWindows(absl::Span<const double> window_medians, v1::TimeStatistics* time) {
  if (window_medians.empty()) return;
  const auto [least, most] = std::minmax_element(window_medians.begin(), window_medians.end());
  const double spread = Rounded((*most - *least) / time->median_seconds());
  time->set_relative_spread(std::max(time->relative_spread(), spread));
}

}  // namespace sextant::probe
