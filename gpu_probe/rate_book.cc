#include "gpu_probe/rate_book.h"

#include <algorithm>

namespace sextant {

void RateBook::Note(const Point& point, double seconds) {
  if (point.work <= 0) return;
  const double rate = point.work / seconds;
  double& of_phase = best_of_phase_[point.phase];
  of_phase = std::max(of_phase, rate);
  double& of_unit = best_of_unit_[point.unit];
  of_unit = std::max(of_unit, rate);
}

absl::optional<double> RateBook::LeastSeconds(const Point& point) const {
  if (const auto found = best_of_phase_.find(point.phase); found != best_of_phase_.end()) {
    return point.work / found->second;
  }
  if (const auto found = best_of_unit_.find(point.unit); found != best_of_unit_.end()) {
    return point.work / found->second;
  }
  return absl::nullopt;
}

}  // namespace sextant
