// One model and one step under every named convention, and in Kaplan's table.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_BY_CONVENTION_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_BY_CONVENTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/step_flops.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

struct TermDifference {
  FlopsTerm term;
  Flops per_token;  // the convention's minus the exact ones
};

struct ConventionFlops {
  FlopsConvention convention;
  // Why the convention does not apply to this model: what its source leaves undefined. Empty where
  // it applies; else the fields below are empty.
  std::string not_applicable;
  Flops per_token = {};
  Flops per_step = {};
  double ratio_to_exact = 0;                     // to kExactCausal
  std::vector<TermDifference> differences = {};  // largest first; their sum is per_token minus the
                                                 // exact count
};

struct ConventionInput {
  const ArchitectureSpec& spec;
  const WeightTensors& tensors;
  const TrainingStepSpec& step;
  const StepFlops& flops;  // CountFlops() of the three, with FlopsDetail::kComponents
};

ConventionFlops FlopsUnder(FlopsConvention convention, const ConventionInput& input);

// In the order of FlopsConvention.
std::vector<ConventionFlops> FlopsByConvention(const ConventionInput& input);

// A row of table 1 of Kaplan et al. 2020, with the exact count.
struct KaplanRow {
  absl::string_view operation;   // "attention: mask"
  absl::string_view formula;     // "2 n_layer n_ctx d_attn"
  Flops per_token = {};          // forward, by the formula
  Flops exact = {};              // forward, exact_causal
  absl::string_view difference;  // the reason for it
};

// The six rows of the table and its total, which excludes the first and the last of them. Errors:
// kFailedPrecondition, whose message says what the table leaves undefined.
absl::StatusOr<std::vector<KaplanRow>> KaplanTable(const ConventionInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_BY_CONVENTION_H_
