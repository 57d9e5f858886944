#include "engine/base/chance.h"

#include <cmath>

namespace sextant {

double ChanceAtMost(const FigureInterval& figure, double limit) {
  const double room = limit - figure.expected;
  const double side = room < 0 ? figure.expected - figure.low : figure.high - figure.expected;
  if (side <= 0) return room < 0 ? 0 : 1;
  return 0.5 * std::erfc(-kNinetiethPercentile * room / side / std::sqrt(2.0));
}

}  // namespace sextant
