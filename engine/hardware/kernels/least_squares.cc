#include "engine/hardware/kernels/least_squares.h"

#include <algorithm>

namespace sextant {
namespace {

// to -= factor from. Elements are independent of each other: the compiler computes several at once.
void Subtract(double factor, const double* __restrict from, size_t count, double* __restrict to) {
  for (size_t i = 0; i < count; ++i) to[i] -= factor * from[i];
}

}  // namespace

LeastSquares::LeastSquares(BandedUnknowns unknowns)
    : unknowns_(unknowns),
      width_(unknowns.reach + 1 + unknowns.border),
      rows_((unknowns.band + unknowns.border) * width_, 0.0),
      targets_(unknowns.band + unknowns.border, 0.0) {}

size_t LeastSquares::Place(size_t row, size_t column) const {
  return row * width_ +
         (column < unknowns_.band ? column - row : unknowns_.reach + 1 + column - unknowns_.band);
}

void LeastSquares::Add(absl::Span<const LinearTerm> terms, double target, double weight) {
  for (const LinearTerm& x : terms) {
    targets_[x.unknown] += weight * x.coefficient * target;
    for (const LinearTerm& y : terms) {
      if (y.unknown < x.unknown) continue;
      rows_[Place(x.unknown, y.unknown)] += weight * x.coefficient * y.coefficient;
    }
  }
}

std::vector<double> LeastSquares::Solve() const {
  std::vector<double> all_rows = rows_;
  std::vector<double> solution = targets_;
  // Without a check of each index, which takes about as long as what is done with it.
  double* const rows = all_rows.data();
  double* const x = solution.data();
  const auto [band, reach, border] = unknowns_;
  const size_t tail = reach + 1;  // where a row's columns of the border begin
  for (size_t i = 0; i < solution.size(); ++i) {
    const double* const row = rows + i * width_;
    const double pivot = rows[Place(i, i)];
    const size_t last = i < band ? std::min(reach, band - 1 - i) : 0;
    for (size_t d = 1; d <= last; ++d) {
      const double factor = row[d] / pivot;
      double* const other = rows + (i + d) * width_;
      Subtract(factor, row + d, last + 1 - d, other);
      Subtract(factor, row + tail, border, other + tail);
      x[i + d] -= factor * x[i];
    }
    for (size_t c = i < band ? 0 : i - band + 1; c < border; ++c) {
      const double factor = row[tail + c] / pivot;
      Subtract(factor, row + tail + c, border - c, rows + (band + c) * width_ + tail + c);
      x[band + c] -= factor * x[i];
    }
  }
  for (size_t i = solution.size(); i-- > 0;) {
    const double* const row = rows + i * width_;
    const size_t last = i < band ? std::min(reach, band - 1 - i) : 0;
    for (size_t d = 1; d <= last; ++d) x[i] -= row[d] * x[i + d];
    for (size_t c = i < band ? 0 : i - band + 1; c < border; ++c) {
      x[i] -= row[tail + c] * x[band + c];
    }
    x[i] /= rows[Place(i, i)];
  }
  return solution;
}

}  // namespace sextant
