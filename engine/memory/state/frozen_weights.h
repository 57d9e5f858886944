// Which weights are stored in another format than the rest.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_FROZEN_WEIGHTS_H_
#define SEXTANT_ENGINE_MEMORY_STATE_FROZEN_WEIGHTS_H_

#include "engine/memory/optimizer_state.h"
#include "engine/memory/state/state_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// A matrix that tokens are multiplied with inside the layers: what fp8 recipes multiply in 8 bits,
// and what is quantised of a frozen model. Adapters are trained in the weights' type, and routers
// decide in wider ones.
inline bool IsLayerMatrix(const WeightTensor& tensor) {
  return tensor.role == WeightRole::kWeight && IsHiddenMatrix(tensor) &&
         tensor.component != WeightComponent::kRouter;
}

// Whether the layers of `tensor` that nothing trains are quantised.
inline bool IsQuantized(const FrozenWeightFormat& format, const WeightTensor& tensor) {
  return format.data_type != DataType::kUnspecified && IsLayerMatrix(tensor);
}

// What frozen matrices are stored in takes 4 or 8 bits.
inline int64_t QuantizedBits(const FrozenWeightFormat& format) {
  return format.data_type == DataType::kInt8 ? 8 : 4;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_FROZEN_WEIGHTS_H_
