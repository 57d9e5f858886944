// What a layer keeps and what it computes again, by the step of its backward pass that frees it.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_STEPS_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_STEPS_H_

#include "engine/memory/activations/activation_list.h"

namespace sextant {

// Of one layer at `place`. Under full recomputation it keeps its input, and all else is computed
// again, whichever layer of a block it is. `again_rows` gets what is computed again.
LayerSteps LayerStepsOf(const ActivationContext& context, const ActivationPlace& place,
                        ActivationTensors* again_rows = nullptr);

// Those freed at or behind `moment`.
int64_t HeldFrom(const BytesByMoment& bytes, size_t moment);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_STEPS_H_
