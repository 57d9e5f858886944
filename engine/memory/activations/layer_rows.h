// The tensors that the branches of a layer keep. docs/memory.md derives them.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_ROWS_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_ROWS_H_

#include "engine/memory/activations/activation_list.h"
#include "engine/model/architecture/layer_spec.h"

namespace sextant {

// What the projections and the core of `attention` keep, but for their common input. `cross`: its
// keys and values are of the encoder's tokens.
void AddAttentionRows(const AttentionSpec& attention, bool cross, ActivationList& out);

// What a feed-forward keeps behind its input.
void AddFeedForwardRows(const FeedForwardSpec& feed_forward, ActivationList& out);

// Routed token slots of a sequence that this GPU's experts have.
CheckedInt ExpertSlotsPerSequence(const ExpertsSpec& experts, const ActivationContext& context,
                                  ModelPart part);

// What router, routed and shared experts keep behind the router's input.
void AddExpertRows(const ExpertsSpec& experts, ActivationList& out);

// Whether a feed-forward beside attention reads the output of attention's norm.
bool SharesItsInput(const LayerSpec& layer);

// All that a layer of `layer` keeps under the batch's recomputation.
void AddLayerRows(const LayerSpec& layer, ActivationList& out);

// What a layer keeps under full recomputation: what came into it.
void AddLayerInputRow(ActivationList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_ROWS_H_
