// What the steps of a layer's backward pass are told about what they work on.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_BACKWARD_SHAPES_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_BACKWARD_SHAPES_H_

#include "engine/memory/transients/layer_backward.h"

namespace sextant {

// A feed-forward's inner features on this GPU.
struct LayerBackward::Inner {
  int64_t features = 0;
  bool gated = false;
  ActivationSite inner = ActivationSite::kFeedForwardInner;
};

// Matrices that read one activation.
struct LayerBackward::Matrix {
  absl::string_view shape;
  CheckedInt elements = 0;
  ActivationSite reads = ActivationSite::kLayerInput;
};

// An attention on this GPU, in elements of all tokens that it has.
struct LayerBackward::Operands {
  LayerBranch branch = LayerBranch::kAttention;
  bool cross = false;
  int64_t heads = 0;
  CheckedInt query = 0;
  CheckedInt key = 0;
  CheckedInt value = 0;
  CheckedInt output = 0;    // the heads' output
  CheckedInt expanded = 0;  // keys and values as if each query head had its own; 0: it has
  CheckedInt scores = 0;
  CheckedInt projections = 0;  // weights of query, key and value
  CheckedInt output_weights = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_BACKWARD_SHAPES_H_
