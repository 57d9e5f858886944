// A kernel's time as a sum of terms with fitted costs, corrected by nearby measured points.
// Costs can't be negative, so they come from nonnegative least squares.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_TERM_FIT_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_TERM_FIT_H_

#include <array>
#include <vector>

#include "absl/types/span.h"

namespace sextant {

// Amounts of a kernel's terms, or their costs.
inline constexpr int kMaxTerms = 8;
using TermArray = std::array<double, kMaxTerms>;

// The costs c >= 0 for which sum(terms c) is nearest to 1 in every row: minimises the mean of
// |error|, where errors below 5 % count by their square, so that a single outlier hardly moves the
// other rows. Columns that are 0 in every row get cost 0. Deterministic; rows are finite and
// nonnegative.
//
// Source: Lawson, Hanson, Solving Least Squares Problems, 1974, chapter 23, algorithm NNLS, on the
// normal equations (at most 8 unknowns); weights after Holland, Welsch, Robust regression using
// iteratively reweighted least-squares, 1977. Both from memory; tests check the result against the
// Karush-Kuhn-Tucker conditions.
TermArray NonnegativeFit(absl::Span<const TermArray> rows);

// The position of a shape, in logarithms: shapes up to about 1 apart inform each other.
using TermPosition = std::array<double, 3>;

// The terms of a shape under one form of kernel.
struct TermShape {
  TermArray terms = {};  // amounts, in any unit; nonnegative
  TermPosition position = {};
};

struct TermPoint {
  TermShape shape;
  double seconds = 0;  // measured; positive
};

//   t = sum_i cost_i term_i  x  exp(correction(position))
//   correction(x) = sum_p k(x, p) r_p / (1 + sum_p k(x, p)),   k = exp(-|x - p|^2 / 2)
//
// r_p is ln(measured / sum), clamped to 0.15 either way. The sum is monotone in every term because
// no cost is negative. The correction is smooth, and 0 far from all points.
// docs/kernels_attention.md, "The form", derives it. Source of the correction: kernel regression,
// Nadaraya 1964, Watson 1964, shrunk to 0 as if by one more point at x.
class TermFit {
 public:
  // `points` is not empty; terms and positions are finite, and each point's terms have a positive
  // sum.
  explicit TermFit(absl::Span<const TermPoint> points);
  // The same of points whose costs() are known.
  TermFit(absl::Span<const TermPoint> points, const TermArray& costs);

  // At least a nanosecond, about two GPU clocks. Finite for finite terms below 1e200.
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

// Measured over predicted time of every point, by a fit without it: five folds, with the i-th
// point in fold i mod 5. At least 8 points.
std::vector<double> HeldOutRatios(absl::Span<const TermPoint> points);

// The mean of |ln ratio|, each clamped to 0.2, so that a single outlier does not decide. Forms of
// kernels are chosen by it.
double MeanError(absl::Span<const double> ratios);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_TERM_FIT_H_
