// The largest unsharded weights and gradients at a time where ranks divide them.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_GATHERED_UNITS_H_
#define SEXTANT_ENGINE_MEMORY_STATE_GATHERED_UNITS_H_

#include <cstdint>

#include "engine/memory/state/stage_state.h"
#include "engine/memory/state/state_list.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {

struct GatheredSizes {
  int64_t weights = 0;
  int64_t gradients = 0;
};

// A unit is a layer, a multi-token prediction module, or, as the root, everything on the stage
// outside of them.
//   weights    root + the largest 1 + prefetched_unit_count consecutive layers of a chunk; all
//              layers, if they aren't resharded after the forward pass; or live_elements of them
//              (deepspeedai/DeepSpeed, deepspeed/runtime/zero/partitioned_param_coordinator.py)
//   gradients  of the largest unit, on their way to the ranks that keep them, or to the host: as
//              computed, and as reduced where that is a copy
// Weights are gathered in the compute type where it is narrower than theirs. Weights that one rank
// holds alone are gathered only from its host.
// Source: PyTorch FSDP, fully_shard() and its MixedPrecisionPolicy, which keeps the root's weights
// from the forward to the backward pass; Rajbhandari et al. 2020 (arXiv 1910.02054) section 5.3;
// docs/memory.md, "Model state".
GatheredSizes GatheredSizesOf(const StageStateContext& context, const StateRanks& ranks,
                              int64_t stage, StateList& list);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_GATHERED_UNITS_H_
