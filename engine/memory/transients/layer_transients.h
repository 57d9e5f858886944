// The transients of a stage's layers in their forward and backward passes.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "engine/memory/activations/activations.h"
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
  ActivationPlace place;
  int64_t block_layers = 1;
  CheckedInt forward = 0;
  bool goes_back = true;  // false: no gradient flows back through it
  LayerPeak backward = {};
};

// Caches the costs of a job's layers across stages and chunks.
class LayerCosts {
 public:
  LayerCost Of(const TransientContext& context, const ActivationPlace& place, int64_t block_layers);
  LayerWalks& walks() { return walks_; }

 private:
  LayerWalks walks_;
  static constexpr size_t kMost = 8;  // more are recomputed: nothing is allocated
  absl::InlinedVector<LayerCost, kMost> known_;
};

// The backward peak of one layer at `place`, with the other layers of its block; `block_layers`
// counts them all. `steps` are its LayerStepsOf().
LayerPeak BackwardOf(const TransientContext& context, const ActivationPlace& place,
                     const LayerSteps& steps, int64_t block_layers);
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
