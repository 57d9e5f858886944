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

// Finds the unknowns x that minimise the sum of weight (terms . x - target)^2 over all equations.
class LeastSquares {
 public:
  // `first[i]` is the lowest unknown that shares an equation with unknown i: rows of the normal
  // equations are stored from there on.
  explicit LeastSquares(std::vector<size_t> first);

  void Add(absl::Span<const LinearTerm> terms, double target, double weight);

  // Every unknown must be determined by equations with a weight above 0. Cholesky decomposition
  // within the envelope (George and Liu, Computer Solution of Large Sparse Positive Definite
  // Systems, 1981, chapter 4; from memory).
  std::vector<double> Solve() const;

 private:
  double& At(size_t row, size_t column) { return rows_[row][column - first_[row]]; }

  std::vector<size_t> first_;
  std::vector<std::vector<double>> rows_;  // the lower triangle, row i from first_[i] to i
  std::vector<double> targets_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_LEAST_SQUARES_H_
