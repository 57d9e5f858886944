// The parameter tensors of one layer.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_WEIGHTS_H_

#include <cstdint>

#include "engine/model/architecture/layer_spec.h"
#include "engine/model/architecture/weight_list.h"

namespace sextant {

// Appends the tensors of a layer of `layer`, which CheckLayer() has passed, at the place that
// `out` stands at. Derived in docs/architecture.md.
void AddLayerWeights(const LayerSpec& layer, int64_t hidden_size, WeightList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_WEIGHTS_H_
