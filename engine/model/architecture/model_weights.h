// All parameter tensors of a model.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_WEIGHTS_H_

#include <string>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// The tensors of `spec`, which CheckArchitecture() has passed, adapters included. Those of one
// part and kind of layer stand together.
WeightTensors WeightsOf(const ArchitectureSpec& spec);

// The same without the adapters, as if everything were trained.
WeightTensors BaseWeightsOf(const ArchitectureSpec& spec);

// Whether adapters of `target` belong beside `tensor`: a matrix of that name, but for a table of
// relative positions.
bool IsTarget(const WeightTensor& tensor, const WeightName& target);

// "decoder.dense.attention.query.weight": the part, the kind of layer by its name in `spec`, the
// module, the name and the role.
std::string WeightNameOf(const ArchitectureSpec& spec, const WeightTensor& tensor);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_WEIGHTS_H_
