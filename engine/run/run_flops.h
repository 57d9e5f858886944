// The FLOPs of a run under every convention that can count its model.
#ifndef SEXTANT_ENGINE_RUN_RUN_FLOPS_H_
#define SEXTANT_ENGINE_RUN_RUN_FLOPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/model/architecture/checked_model.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/run/run_spec.h"

namespace sextant {

struct FlopsCount {
  FlopsConvention convention;
  Flops per_token;
  Flops run;
  std::vector<TermDifference> differences = {};  // per_token minus that of kExactCausal
};

// FLOPs computed, recomputation included, next to the FLOPs that the model needs. Both are exact
// counts under the convention's mask, or under half of one where it has none.
struct HardwareShare {
  Flops hardware_per_token;
  Flops model_per_token;

  double ratio() const { return hardware_per_token.value() / model_per_token.value(); }
};

struct RunFlops {
  // In the order of FlopsConvention, at least the one that the times use; of a full answer all that
  // apply.
  std::vector<FlopsCount> counts = {};
  FlopsConvention convention = FlopsConvention::kSixNTotal;  // the one that the times use
  absl::optional<HardwareShare> hardware = {};               // absent without a sequence length
  // In a full answer: per token, by component; their sum is kExactCausal.
  std::vector<Flops> products = {};

  const FlopsCount& used() const { return Of(convention); }
  Flops exact_causal() const { return Of(FlopsConvention::kExactCausal).per_token; }

 private:
  const FlopsCount& Of(FlopsConvention wanted) const;
};

// A model with a shape, or without one.
struct FlopsSubject {
  const CheckedModel* model = nullptr;  // null: a bare parameter_count
  const ArchitectureCount& parameters;
};

// Counts `run`, whose model is `subject`. Without a sequence length only 6 N can be counted, and
// not even that for a shape in which some parameters are not used and trained by every token.
//
// Errors: kInvalidArgument naming training.sequence_length or encoder_sequence_length, or
// options.flops_convention where it cannot count this model.
absl::StatusOr<RunFlops> RunFlopsOf(const RunSpec& run, const FlopsSubject& subject);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_FLOPS_H_
