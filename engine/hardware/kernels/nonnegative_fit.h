// Least squares with nonnegative unknowns, because costs can't be negative.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_NONNEGATIVE_FIT_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_NONNEGATIVE_FIT_H_

#include <array>

#include "absl/types/span.h"

namespace sextant {

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

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_NONNEGATIVE_FIT_H_
