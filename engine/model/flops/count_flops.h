// FLOPs of one training step of any architecture, from every matrix product.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_COUNT_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_COUNT_FLOPS_H_

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/step_flops.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

enum class FlopsDetail { kTotals, kComponents };

// FLOPs of `step` of `spec`, whose tensors are `tensors`. Both have passed their checks, and
// `tensors` the limit of CountWeights(). A multiply-add is 2 FLOPs. Only products count: weights
// with tokens, queries with keys, scores with values. Embedding look-ups, norms, activations,
// softmax, biases and the loss are not products. Backward, each gradient of reverse accumulation is
// a product of the size of its forward one; with frozen parameters, gradients that nothing needs
// are excluded.
// Source: derived in docs/transformer.md, "One product".
StepFlops CountFlops(const ArchitectureSpec& spec, const WeightTensors& tensors,
                     const TrainingStepSpec& step, FlopsDetail detail);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_COUNT_FLOPS_H_
