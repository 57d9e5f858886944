#include "engine/hardware/kernels/least_squares.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

// The sum over columns from..to-1 of x y; each begins at its own first column.
double Dot(const std::vector<double>& x, size_t x_first, const std::vector<double>& y,
           size_t y_first, size_t to) {
  const size_t from = std::max(x_first, y_first);
  double sum = 0;
  for (size_t i = from; i < to; ++i) sum += x[i - x_first] * y[i - y_first];
  return sum;
}

}  // namespace

LeastSquares::LeastSquares(std::vector<size_t> first)
    : first_(std::move(first)), rows_(first_.size()), targets_(first_.size(), 0.0) {
  for (size_t i = 0; i < first_.size(); ++i) rows_[i].assign(i + 1 - first_[i], 0.0);
}

void LeastSquares::Add(absl::Span<const LinearTerm> terms, double target, double weight) {
  for (const LinearTerm& x : terms) {
    targets_[x.unknown] += weight * x.coefficient * target;
    for (const LinearTerm& y : terms) {
      if (y.unknown > x.unknown) continue;
      At(x.unknown, y.unknown) += weight * x.coefficient * y.coefficient;
    }
  }
}

std::vector<double> LeastSquares::Solve() const {
  std::vector<std::vector<double>> rows = rows_;
  std::vector<double> x = targets_;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<double>& row = rows[i];
    for (size_t j = first_[i]; j < i; ++j) {
      const double sum = Dot(row, first_[i], rows[j], first_[j], j);
      row[j - first_[i]] = (row[j - first_[i]] - sum) / rows[j].back();
    }
    row.back() = std::sqrt(row.back() - Dot(row, first_[i], row, first_[i], i));
    for (size_t j = first_[i]; j < i; ++j) x[i] -= row[j - first_[i]] * x[j];
    x[i] /= row.back();
  }
  for (size_t i = rows.size(); i-- > 0;) {
    x[i] /= rows[i].back();
    for (size_t j = first_[i]; j < i; ++j) x[j] -= rows[i][j - first_[i]] * x[i];
  }
  return x;
}

}  // namespace sextant
