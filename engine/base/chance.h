// Chances by 80 % intervals.
#ifndef SEXTANT_ENGINE_BASE_CHANCE_H_
#define SEXTANT_ENGINE_BASE_CHANCE_H_

namespace sextant {

// The 90th percentile of a normal distribution, in standard deviations.
inline constexpr double kNinetiethPercentile = 1.2815515655446004;

// A figure whose interval holds 80 %.
struct FigureInterval {
  double low = 0;
  double expected = 0;
  double high = 0;
};

// The chance that a figure is at most `limit`: half of a normal distribution on each side of the
// expected one. A step where an end is the expected figure. Derivation: docs/memory.md, "Fit".
double ChanceAtMost(const FigureInterval& figure, double limit);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_CHANCE_H_
