#include "engine/hardware/kernels/prediction_error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sextant {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double between = rank - static_cast<double>(below);
  return sorted[below] * (1 - between) + sorted[above] * between;
}

}  // namespace

// Most exponents are 0.
Widening Power(Widening widening, double exponent) {
  if (exponent == 0) return {};
  return {std::pow(widening.low, exponent), std::pow(widening.high, exponent)};
}

PredictionError ErrorOf(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  std::vector<double> sizes;
  sizes.reserve(ratios.size());
  for (const double ratio : ratios) sizes.push_back(std::abs(1 / ratio - 1));
  std::sort(sizes.begin(), sizes.end());
  return {.p10 = Quantile(ratios, 0.1),
          .median = Quantile(ratios, 0.5),
          .p90 = Quantile(ratios, 0.9),
          .median_absolute = Quantile(sizes, 0.5),
          .p90_absolute = Quantile(sizes, 0.9),
          .shape_count = static_cast<int64_t>(ratios.size())};
}

Widening WideningBeyond(const PredictionError& error, Widening more) {
  const double low = std::log(std::min(error.p10, 1.0));
  const double high = std::log(std::max(error.p90, 1.0));
  return {.low = std::exp(-std::hypot(low, std::log(more.low)) - low),
          .high = std::exp(std::hypot(high, std::log(more.high)) - high)};
}

KernelTime TimeWithin(double expected_seconds, const PredictionError& error, Widening widening,
                      KernelBasis basis) {
  return {.expected = Seconds(expected_seconds),
          .low = Seconds(expected_seconds * std::min(error.p10, 1.0) * widening.low),
          .high = Seconds(expected_seconds * std::max(error.p90, 1.0) * widening.high),
          .basis = basis};
}

KernelTime NoSurerThanAMedian(KernelTime time) {
  time.low = std::min(time.low, time.expected * (1 - kMedianDoubt));
  time.high = std::max(time.high, time.expected * (1 + kMedianDoubt));
  return time;
}

}  // namespace sextant
