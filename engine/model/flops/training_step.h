// One training step as its FLOPs depend on it: its sequences and its recomputation.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_TRAINING_STEP_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_TRAINING_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// `count` sequences of one length. A ragged batch has several groups: attention grows with the
// square of each length, so a mean length would be wrong.
struct SequenceGroup {
  int64_t count = 0;
  int64_t length = 0;          // tokens of the decoder; of the encoder if it is the only stack
  int64_t encoder_length = 0;  // tokens of the encoder, in a model with both
};

// The activations that are recomputed in the backward pass instead of kept.
enum class RecomputePolicy {
  kNone,
  kSelective,  // core attention: scores and their product with the values
  kFull,       // all layers
  kOperators,  // of each layer all but what SavedProducts describes
};

// True where a layer's forward pass is repeated, wholly or in part.
inline bool RepeatsLayers(RecomputePolicy policy) {
  return policy == RecomputePolicy::kFull || policy == RecomputePolicy::kOperators;
}

struct TrainingStepSpec {
  std::vector<SequenceGroup> sequences = {};
  RecomputePolicy recompute = RecomputePolicy::kNone;
  // Token slots of the routed experts, as a multiple of the tokens routed to them: above 1 where
  // experts are padded, below where tokens are dropped. Absent: 1.
  absl::optional<double> expert_capacity_factor = {};
};

// "none", "selective", "full", "operators".
absl::string_view RecomputePolicyName(RecomputePolicy policy);

// Appends the errors of `step` for `spec`, which may be unchecked, under paths that start with
// `path`.
void CheckTrainingStep(const TrainingStepSpec& step, const ArchitectureSpec& spec,
                       absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_TRAINING_STEP_H_
