// The parameter tensors of one attention.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_ATTENTION_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_ATTENTION_WEIGHTS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/model/architecture/layer_spec.h"
#include "engine/model/architecture/weight_list.h"

namespace sextant {

// What an attention takes from the layer around it.
struct AttentionPlace {
  absl::string_view module;  // "attention" or "cross_attention"
  int64_t hidden_size;
  NormVariant norm;  // of latents, and of queries and keys unless the attention says otherwise
};

// Appends the tensors of `attention`. Keys and values of a cross attention are projected from
// the encoder's output, which is hidden_size wide as well.
void AddAttentionWeights(const AttentionSpec& attention, const AttentionPlace& place,
                         WeightList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_ATTENTION_WEIGHTS_H_
