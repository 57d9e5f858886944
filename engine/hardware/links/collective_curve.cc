#include "engine/hardware/links/collective_curve.h"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

double OnLine(const TimeOfSize& a, const TimeOfSize& b, double bytes) {
  return a.seconds + (b.seconds - a.seconds) * ((bytes - a.bytes) / (b.bytes - a.bytes));
}

}  // namespace

CollectiveCurve::CollectiveCurve(std::vector<TimeOfSize> points) : points_(std::move(points)) {
  for (size_t i = points_.size() - 1; i-- > 0;) {
    points_[i].seconds = std::min(points_[i].seconds, points_[i + 1].seconds);
  }
}

double CollectiveCurve::SecondsAt(double bytes) const {
  if (bytes <= points_.front().bytes) return points_.front().seconds;
  const auto above =
      std::upper_bound(points_.begin(), points_.end() - 1, bytes,
                       [](double size, const TimeOfSize& p) { return size < p.bytes; });
  return OnLine(*(above - 1), *above, bytes);
}

double CollectiveCurve::SecondsWithout(size_t index) const {
  return OnLine(points_[index - 1], points_[index + 1], points_[index].bytes);
}

}  // namespace sextant
