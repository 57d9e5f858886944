// The scale of a linear layer's outputs at initialisation.
#ifndef SEXTANT_ENGINE_OPERATION_INITIALIZATION_H_
#define SEXTANT_ENGINE_OPERATION_INITIALIZATION_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace sextant {

// For y = x w, where x has independent entries of mean 0 and variance 1.
struct LinearInitialization {
  int64_t fan_in = 0;
  double output_deviation_of_unit_weights = 0;       // weights of variance 1
  double scaled_weight_deviation = 0;                // 1 / sqrt(fan_in)
  double output_deviation_of_scaled_weights = 0;     // 1
  double output_deviation_of_truncated_weights = 0;  // scaled, after truncation
};

// The default truncation, as in common calls of torch.nn.init.trunc_normal_.
inline constexpr double kDefaultTruncation = 3;
// Below it the difference of nearly equal numbers would lose more than 3 digits.
inline constexpr double kMinTruncation = 0.1;
inline constexpr double kMaxTruncation = 100;

// An output is a sum of fan_in independent products of mean 0, whose variances add: with weights
// of deviation s its deviation is s sqrt(fan_in).
//
// Unit normal weights redrawn beyond +-t have variance 1 - 2 t phi(t) / (2 Phi(t) - 1), where phi
// and Phi are the normal density and distribution (integration by parts of x^2 phi). Scaled by
// 1/sqrt(fan_in) and not renormalised, they give the square root of this variance: 0.98658 at t =
// 3. Sources: Glorot, Bengio 2010 (AISTATS) section 4.2 for the sum of variances; for the
// truncated one docs/operation_costs.md, "Initialisation".
//
// Errors: kInvalidArgument "fan_in" below 1 or above kMaxDimension; "truncation" not from
// kMinTruncation to kMaxTruncation.
absl::StatusOr<LinearInitialization> InitializationOf(int64_t fan_in,
                                                      double truncation = kDefaultTruncation);

// The output deviation for weights of deviation `weight_deviation`.
double OutputDeviation(int64_t fan_in, double weight_deviation);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_INITIALIZATION_H_
