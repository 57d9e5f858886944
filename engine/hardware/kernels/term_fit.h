// A kernel's time as a sum of what it does, each part at its cost, fitted to measured points and
// corrected by those nearby.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_TERM_FIT_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_TERM_FIT_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "engine/hardware/kernels/nonnegative_fit.h"

namespace sextant {

// Where a shape lies among others, in logarithms: shapes about 1 apart inform each other.
using TermPosition = std::array<double, 3>;

// What a shape does, as a form of kernel sees it.
struct TermShape {
  TermArray terms = {};  // amounts, in any units; none is negative
  TermPosition position = {};
};

struct TermPoint {
  TermShape shape;
  double seconds = 0;  // measured; positive
};

//   t = sum_i cost_i term_i  x  exp(correction(position))
//   correction(x) = sum_p k(x, p) r_p / (1 + sum_p k(x, p)),   k = exp(-|x - p|^2 / 2)
//
// r_p is ln(measured / sum), at most 0.15 either way. The sum is monotone in every term, since no
// cost is negative; the correction is the efficiency class, smooth, and 0 far from all points.
// docs/kernels_attention.md derives it. Source of the correction: kernel regression, Nadaraya 1964,
// Watson 1964, drawn to 0 as by one point more that lies there.
class TermFit {
 public:
  // `points` are not empty; their terms and positions are finite, the sum of each's terms positive.
  explicit TermFit(absl::Span<const TermPoint> points);

  // At least a nanosecond, about two clocks of a GPU. Finite for finite terms below 1e200.
  double Seconds(const TermShape& shape) const;

  const TermArray& costs() const { return costs_; }

 private:
  struct Neighbour {
    TermPosition position;
    double log_ratio;
  };

  double Sum(const TermArray& terms) const;

  TermArray costs_ = {};
  std::vector<Neighbour> neighbours_;
};

// Measured over predicted time of every point, by a fit that has not seen it: five folds, the i-th
// point in fold i mod 5. At least 8 points.
std::vector<double> HeldOutRatios(absl::Span<const TermPoint> points);

// The mean of |ln ratio|, each at most 0.2: what a form of kernel is chosen by. A single wild
// measurement must not choose.
double MeanError(absl::Span<const double> ratios);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_TERM_FIT_H_
