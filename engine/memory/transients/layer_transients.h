// What a stage's layers make while they run forward, and while they run backward.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "engine/memory/activations/activations.h"
#include "engine/memory/transients/layer_steps.h"
#include "engine/memory/transients/transient_list.h"

namespace sextant {

// The layer of a stage with the most, and what it makes.
struct LayerPeak {
  ActivationPlace place = {.layer_kind = -1};  // of one layer; -1: the stage has none
  size_t number = 0;                           // of the step of its backward pass
  CheckedInt added = 0;
  CheckedInt freed = 0;  // of what the micro-batch in work kept
};

// What a layer's passes make at most: the same wherever it stands.
struct LayerCost {
  ActivationPlace place;
  int64_t block_layers = 1;
  CheckedInt forward = 0;
  bool goes_back = true;  // has a backward pass
  LayerPeak backward = {};
};

// Remembers the costs of a job's layers from one stage or chunk to the next.
class LayerCosts {
 public:
  LayerCost Of(const TransientContext& context, const ActivationPlace& place, int64_t block_layers);
  LayerWalks& walks() { return walks_; }

 private:
  LayerWalks walks_;
  static constexpr size_t kMost = 8;  // more are worked out again: nothing is allocated
  absl::InlinedVector<LayerCost, kMost> known_;
};

// Of one layer at `place`, with the others of its block; `block_layers` counts all of them. `steps`
// are LayerStepsOf() it.
LayerPeak BackwardOf(const TransientContext& context, const ActivationPlace& place,
                     const LayerSteps& steps, int64_t block_layers);
void ListBackward(const TransientContext& context, const LayerPeak& peak, int64_t block_layers,
                  TransientList& out);

// What the forward pass of a layer makes and doesn't keep. Where no gradient passes, that is all.
LayerSteps ForwardSteps(const TransientContext& context, const ActivationPlace& place,
                        ActivationTensors* rows = nullptr);

// The forward pass of the branch of the layer at `place` that makes most besides what is kept.
void ListForward(const TransientContext& context, const ActivationPlace& place, TransientList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_TRANSIENTS_H_
