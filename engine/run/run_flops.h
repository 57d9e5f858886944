// The arithmetic of a run, under every convention that says how to count its model.
#ifndef SEXTANT_ENGINE_RUN_RUN_FLOPS_H_
#define SEXTANT_ENGINE_RUN_RUN_FLOPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/run/run_spec.h"

namespace sextant {

struct FlopsCount {
  FlopsConvention convention;
  Flops per_token;
  Flops run;
  std::vector<TermDifference> differences = {};  // per_token less that of kExactCausal
};

// What is computed, recomputation included, beside what the model asks for: exactly counted, under
// the mask of a convention, or half of one where it has none.
struct HardwareShare {
  Flops hardware_per_token;
  Flops model_per_token;

  double ratio() const { return hardware_per_token.value() / model_per_token.value(); }
};

struct RunFlops {
  std::vector<FlopsCount> counts = {};  // in the order of FlopsConvention; at least one
  FlopsConvention convention = FlopsConvention::kSixNTotal;  // of the times
  absl::optional<HardwareShare> hardware = {};               // absent without a sequence length
  std::vector<Flops> products = {};  // a token, by component: kExactCausal is their sum

  const FlopsCount& used() const { return Of(convention); }
  Flops exact_causal() const { return Of(FlopsConvention::kExactCausal).per_token; }

 private:
  const FlopsCount& Of(FlopsConvention wanted) const;
};

// A model with a shape, or without one.
struct FlopsSubject {
  const ArchitectureSpec* architecture = nullptr;  // null: a bare parameter_count
  const WeightTensors& tensors;
  const ArchitectureCount& parameters;
};

// Counts `run`, whose model is `subject`. Without a sequence length only 6 N can be had, and of a
// shape whose parameters are not all met and trained by every token not even that.
//
// Errors: kInvalidArgument naming training.sequence_length and its like, or
// options.flops_convention where it does not say how to count this model.
absl::StatusOr<RunFlops> RunFlopsOf(const RunSpec& run, const FlopsSubject& subject);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_FLOPS_H_
