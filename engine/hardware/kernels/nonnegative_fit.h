// Least squares whose unknowns must not be negative: costs can't be.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_NONNEGATIVE_FIT_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_NONNEGATIVE_FIT_H_

#include <array>

#include "absl/types/span.h"

namespace sextant {

inline constexpr int kMostTerms = 8;
using TermArray = std::array<double, kMostTerms>;

// The costs c >= 0 for which sum(terms c) is nearest to 1 in every row: the mean of |error| is
// least, errors below 5 % counting by their square. One row far off then hardly moves the others.
// Columns that are 0 in every row get cost 0. Deterministic; rows are finite and not negative.
//
// Source: Lawson, Hanson, Solving Least Squares Problems, 1974, chapter 23, algorithm NNLS, on the
// normal equations (at most 8 unknowns); weights after Holland, Welsch, Robust regression using
// iteratively reweighted least-squares, 1977. Both from memory; tests hold the result against the
// conditions of Karush, Kuhn and Tucker.
TermArray NonnegativeFit(absl::Span<const TermArray> rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_NONNEGATIVE_FIT_H_
