#include "tests/validation/error_summary.h"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double kClose = 0.03;
constexpr double kNear = 0.10;

double ShareWithin(const std::vector<double>& sizes, double limit) {
  const auto count =
      std::count_if(sizes.begin(), sizes.end(), [&](double size) { return size <= limit; });
  return static_cast<double>(count) / static_cast<double>(sizes.size());
}

}  // namespace

double QuantileOf(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size());
  const size_t above = static_cast<size_t>(std::ceil(rank - 1e-9));
  const size_t index = std::min(sorted.size(), std::max<size_t>(above, 1)) - 1;
  const bool between = share == 0.5 && sorted.size() % 2 == 0;
  return between ? (sorted[index] + sorted[index + 1]) / 2 : sorted[index];
}

ErrorSummary SummaryOf(std::vector<double> errors) {
  ErrorSummary out;
  if (errors.empty()) return out;
  std::sort(errors.begin(), errors.end());
  out.count = static_cast<int64_t>(errors.size());
  out.median_signed = QuantileOf(errors, 0.5);
  out.low = QuantileOf(errors, 0.1);
  out.high = QuantileOf(errors, 0.9);
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  out.median = QuantileOf(errors, 0.5);
  out.p90 = QuantileOf(errors, 0.9);
  out.worst = errors.back();
  out.within_3 = ShareWithin(errors, kClose);
  out.within_10 = ShareWithin(errors, kNear);
  return out;
}

}  // namespace sextant
