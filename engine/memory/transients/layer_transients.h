// The transients of a stage's layers in their forward and backward passes.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "engine/memory/activations/activations.h"
#include "engine/memory/activations/layer_table.h"
#include "engine/memory/transients/layer_backward.h"
#include "engine/memory/transients/transient_list.h"

namespace sextant {

// The stage's layer with the most transient bytes, and these bytes.
struct LayerPeak {
  ActivationPlace place = {.layer_kind = -1};  // of one layer; layer_kind -1: the stage has none
  size_t number = 0;                           // of the step of its backward pass
  CheckedInt added = 0;
  CheckedInt freed = 0;  // of the bytes kept by the micro-batch in work
};

// The largest transients of a layer's passes, independent of its position.
struct LayerCost {
  CheckedInt forward = 0;
  bool goes_back = true;      // false: no gradient flows back through it
  LayerPeak backward = {};    // of a block of one layer
  CheckedInt recomputed = 0;  // bytes that each further layer of its block adds to it

  LayerPeak BackwardOfBlock(int64_t layers) const {
    LayerPeak out = backward;
    if (layers > 1) out.added = out.added + recomputed * (layers - 1);
    return out;
  }
};

// Caches the costs of a job's layers across stages and chunks.
class LayerCosts {
 public:
  // `alike_kinds`: LayerTable's.
  explicit LayerCosts(absl::Span<const int> alike_kinds = {})
      : walks_(alike_kinds), known_(alike_kinds) {}

  // Valid until the next call. The place of its backward pass may be of a kind that is alike.
  const LayerCost& Of(const TransientContext& context, const ActivationPlace& place);
  LayerWalks& walks() { return walks_; }
  // Layers computed so far.
  int64_t computed() const { return computed_ + walks_.computed(); }

 private:
  LayerWalks walks_;
  LayerTable<LayerCost> known_;
  int64_t computed_ = 0;
};

// The backward peak of one layer at `place`; `steps` are its LayerStepsOf().
LayerPeak BackwardOf(const TransientContext& context, const ActivationPlace& place,
                     const LayerSteps& steps);
void ListBackward(const TransientContext& context, const LayerPeak& peak, int64_t block_layers,
                  TransientList& out);

// The tensors that a layer's forward pass makes and doesn't keep. Where no gradient flows, these
// are all its tensors.
LayerSteps ForwardSteps(const TransientContext& context, const ActivationPlace& place,
                        ActivationTensors* rows = nullptr);

// Lists the forward pass of the largest branch of the layer at `place`, beyond what it keeps.
void ListForward(const TransientContext& context, const ActivationPlace& place, TransientList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_
