// All parameter tensors of a model.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_WEIGHTS_H_

#include <string>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// The tensors of `spec`, which has passed CheckArchitecture(), adapters included. Those of one
// part and kind of layer are adjacent.
WeightTensors WeightsOf(const ArchitectureSpec& spec);

// The same without the adapters, as if everything were trained.
WeightTensors BaseWeightsOf(const ArchitectureSpec& spec);

// True where adapters of `target` apply to `tensor`: a matrix of that name or a part of it, or any
// of a layer where that is kAllLinear or kAllFused, except a table of relative positions.
bool IsTarget(const WeightTensor& tensor, const WeightName& target);

// The matrices that read the same tensor as `tensor` and that frameworks hold as one with it,
// "query+key+value", "key+value" of cross attention, "gate+up"; "" where there is none.
absl::string_view FusionOf(const WeightTensor& tensor);

// "decoder.dense.attention.query.weight": part, name of the kind of layer in `spec`, module, name
// and role.
std::string WeightNameOf(const ArchitectureSpec& spec, const WeightTensor& tensor);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_WEIGHTS_H_
