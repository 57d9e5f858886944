// The derivation of each number of a plan.
#ifndef SEXTANT_ENGINE_RUN_DERIVATION_H_
#define SEXTANT_ENGINE_RUN_DERIVATION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/run/run_spec.h"

namespace sextant {

struct Plan;

struct DerivationStep {
  std::string symbol;         // "estimates.lower_bound.duration_seconds.expected"
  absl::string_view formula;  // in symbols
  std::string substitution;   // the formula with its numbers: evaluates to `value`
  double value = 0;
  absl::string_view unit;
  std::string source;
};

// The steps that derive every number of `plan`, in an order in which each step uses only earlier
// ones. `plan` is complete except for its derivation.
std::vector<DerivationStep> DerivationOf(const RunSpec& run, const Plan& plan);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_DERIVATION_H_
