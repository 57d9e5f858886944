// A dense decoder of equal layers, as an architecture.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_DENSE_DECODER_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_DENSE_DECODER_H_

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/transformer_spec.h"

namespace sextant {

// `spec`, which CheckTransformer() has passed, with one kind of layer named "dense". `spec` says
// how many norms a layer has, not where: one stands before attention, two before both branches,
// and a third and a fourth after them.
ArchitectureSpec DenseDecoder(const TransformerSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_DENSE_DECODER_H_
