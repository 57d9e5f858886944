// The tensors that the branches of a layer keep. docs/memory.md, "A layer", derives them.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_ROWS_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_ROWS_H_

#include "engine/memory/activations/activation_list.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/block/block.h"

namespace sextant {

// Adds the rows of `attention`'s projections and core, except their common input. `cross`: keys
// and values come from the encoder's tokens.
void AddAttentionRows(const AttentionSpec& attention, bool cross, ActivationList& out);

// Adds the rows of a block that stands where attention does, except its input.
void AddBlockRows(const Block& block, ActivationList& out);

// The step of a branch's backward pass in which an operation at `stage` has its own.
BackwardStep BackwardStepOf(BlockStage stage);

// Adds the rows of a feed-forward after its input.
void AddFeedForwardRows(const FeedForwardSpec& feed_forward, ActivationList& out);

// The shape of routed tokens.
inline absl::string_view RoutedShape(const ExpertsSpec& experts) {
  return experts.latent_size > 0 ? "b s k l" : "b s k h";
}

// Adds the rows of router, routed and shared experts after the router's input.
void AddExpertRows(const ExpertsSpec& experts, ActivationList& out);

// Adds all rows of a layer under the batch's recomputation.
void AddLayerRows(const LayerSpec& layer, ActivationList& out);

// Adds the row that a layer keeps to be computed again: its input, which `freed` frees.
void AddLayerInputRow(ActivationList& out, const BackwardPosition& freed = {});

// The position that frees the layer's own input, which the forward pass reads first.
BackwardPosition InputPositionOf(const LayerSpec& layer);

// True where the layer's first norm, or its first matrix, keeps the layer's input itself and no
// cast of it.
bool KeepsItsInput(const LayerSpec& layer, const MicroBatchSpec& batch);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LAYER_ROWS_H_
