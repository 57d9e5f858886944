#include "engine/operation/initialization.h"

#include <cmath>
#include <numbers>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/operation/operation.h"

namespace sextant {
namespace {

double TruncatedVariance(double t) {
  const double density = std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
  const double inside = std::erf(t / std::numbers::sqrt2);  // 2 Phi(t) - 1
  return 1 - 2 * t * density / inside;
}

}  // namespace

double OutputDeviation(int64_t fan_in, double weight_deviation) {
  return weight_deviation * std::sqrt(static_cast<double>(fan_in));
}

absl::StatusOr<LinearInitialization> InitializationOf(int64_t fan_in, double truncation) {
  FieldViolations violations;
  violations.Require("", "fan_in", fan_in, 1, kMaxDimension);
  violations.RequireRange(
      "", "truncation", truncation,
      FieldViolations::RealRange{.low = kMinTruncation, .high = kMaxTruncation});
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  const double scaled = 1 / std::sqrt(static_cast<double>(fan_in));
  const double output = OutputDeviation(fan_in, scaled);
  return LinearInitialization{
      .fan_in = fan_in,
      .output_deviation_of_unit_weights = OutputDeviation(fan_in, 1),
      .scaled_weight_deviation = scaled,
      .output_deviation_of_scaled_weights = output,
      .output_deviation_of_truncated_weights = output * std::sqrt(TruncatedVariance(truncation))};
}

}  // namespace sextant
