#include "tests/validation/spread_points.h"

#include <algorithm>

namespace sextant {
namespace {

double SquaredDistance(const TermPosition& a, const TermPosition& b) {
  double out = 0;
  for (size_t i = 0; i < a.size(); ++i) out += (a[i] - b[i]) * (a[i] - b[i]);
  return out;
}

}  // namespace

std::vector<size_t> SpreadPoints(const std::vector<TermPosition>& positions,
                                 const TermPosition& centre, size_t count) {
  std::vector<size_t> out;
  if (positions.empty()) return out;
  std::vector<double> apart;  // from the nearest that was taken; at first, minus from the centre
  apart.reserve(positions.size());
  for (const TermPosition& position : positions) {
    apart.push_back(-SquaredDistance(position, centre));
  }
  while (out.size() < std::min(count, positions.size())) {
    const auto farthest = std::max_element(apart.begin(), apart.end());
    const auto taken = static_cast<size_t>(farthest - apart.begin());
    const bool first = out.empty();
    out.push_back(taken);
    for (size_t i = 0; i < positions.size(); ++i) {
      const double distance = SquaredDistance(positions[i], positions[taken]);
      apart[i] = first ? distance : std::min(apart[i], distance);
    }
    apart[taken] = -1;  // two shapes may lie in one place
    for (const size_t i : out) apart[i] = -1;
  }
  return out;
}

}  // namespace sextant
