// FLOPs of an encoder or a decoder.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_STACK_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_STACK_FLOPS_H_

#include "absl/types/span.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/model_flops_context.h"

namespace sextant {

// What comes into a stack.
struct StackInput {
  ModelPart part;
  bool embedding_needs_gradient = false;
  bool encoder_output_needs_gradient = false;
};

// Adds the stack whose tensors stand at the front of `rest`, and takes them off. Returns whether
// its output needs a gradient. Costs as many steps as it has runs, not layers.
bool AddStackFlops(const ModelFlopsContext& context, const StackInput& input,
                   absl::Span<const WeightTensor>& rest);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_STACK_FLOPS_H_
