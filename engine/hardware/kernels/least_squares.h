// Least squares with penalties for a few hundred unknowns with a banded structure.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_LEAST_SQUARES_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_LEAST_SQUARES_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace sextant {

// A coefficient of an unknown.
struct LinearTerm {
  size_t unknown;
  double coefficient;
};

// The first `band` unknowns share equations with neighbours up to `reach` away, the `border` ones
// after them with all.
struct BandedUnknowns {
  size_t band = 0;
  size_t reach = 0;
  size_t border = 0;
};

// Finds the unknowns x that minimise the sum of weight (terms . x - target)^2 over all equations.
class LeastSquares {
 public:
  explicit LeastSquares(BandedUnknowns unknowns);

  void Add(absl::Span<const LinearTerm> terms, double target, double weight);

  // Every unknown must be determined by equations with a weight above 0. Gaussian elimination of
  // the normal equations, which are positive definite, without pivots: it stays within the band and
  // the border (Golub and Van Loan, Matrix Computations, sections 4.2 and 4.3; from memory).
  std::vector<double> Solve() const;

 private:
  // Where the normal equations have (row, column) of their upper triangle.
  size_t Place(size_t row, size_t column) const;

  BandedUnknowns unknowns_;
  size_t width_;              // of a row: itself and its neighbours after it, then the border
  std::vector<double> rows_;  // the upper triangle
  std::vector<double> targets_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_LEAST_SQUARES_H_
