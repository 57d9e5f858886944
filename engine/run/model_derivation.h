// The derivation of a plan's parameters and FLOPs, and of what surrounds its steps; text of numbers
// and sums for derivations.
// Private to engine/run.
#ifndef SEXTANT_ENGINE_RUN_MODEL_DERIVATION_H_
#define SEXTANT_ENGINE_RUN_MODEL_DERIVATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/base/units.h"
#include "engine/run/derivation.h"
#include "engine/run/plan.h"

namespace sextant {

inline std::string Number(double value) { return NumberText(value); }

inline std::string Number(int64_t value) { return absl::StrCat(value); }

inline std::string Number(Bytes value) { return absl::StrCat(value.value()); }

// Appends `term` to `sum`: "1" and 2 make "1 + 2".
inline void AppendTerm(std::string& sum, int64_t term) {
  absl::StrAppend(&sum, sum.empty() ? "" : " + ", term);
}

// Appends the steps of plan.parameters and plan.flops to `steps`.
void AppendModelSteps(const RunSpec& run, const Plan& plan, std::vector<DerivationStep>& steps);

// Appends the steps of the plan's checkpoint, of what interrupts the run, and of elapsed_per_second
// to `steps`: the estimates use them.
void AppendElapsedSteps(const RunSpec& run, const Plan& plan, std::vector<DerivationStep>& steps);

// Appends the other steps of plan.whole_run, which use the estimates.
void AppendWholeRunSteps(const Plan& plan, std::vector<DerivationStep>& steps);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MODEL_DERIVATION_H_
