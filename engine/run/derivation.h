// The derivation of each number of a plan.
#ifndef SEXTANT_ENGINE_RUN_DERIVATION_H_
#define SEXTANT_ENGINE_RUN_DERIVATION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/run/formula.h"
#include "engine/run/planned_run.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Collects steps. Derive from it.
class DerivationSteps {
 protected:
  // Further steps are of `group` and from `source`, unless they name another one.
  void Begin(absl::string_view group, absl::string_view source) {
    group_ = std::string(group);
    source_ = std::string(source);
  }
  void Add(absl::string_view symbol, const Term& term, absl::string_view unit) {
    Add(symbol, term, unit, source_);
  }
  void Add(absl::string_view symbol, const Term& term, absl::string_view unit,
           absl::string_view source);
  // Adds a number that no formula gives, where there is one.
  template <typename Number, typename... Source>
  void AddGiven(absl::string_view symbol, const absl::optional<Number>& value,
                absl::string_view unit, Source... source) {
    if (value.has_value()) Add(symbol, {"given", *value}, unit, source...);
  }

  std::vector<DerivationStep> steps_;

 private:
  std::string group_;
  std::string source_;
};

// The steps of the plan's inputs, parameters, FLOPs, memory and rates, with which a derivation
// begins. Private to engine/run.
std::vector<DerivationStep> CountSteps(const RunSpec& run, const Plan& plan);

// The steps that derive every number of `plan`, in an order in which each step uses only earlier
// ones. `plan` is complete except for its derivation.
std::vector<DerivationStep> DerivationOf(const RunSpec& run, const Plan& plan);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_DERIVATION_H_
