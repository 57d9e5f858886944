// FLOPs of one training step of any architecture: every matrix product, counted.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_COUNT_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_COUNT_FLOPS_H_

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/step_flops.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

enum class FlopsDetail { kTotals, kComponents };

// FLOPs of `step` of `spec`, whose tensors are `tensors`; both have passed their checks, and
// CountWeights() its limit. A multiply-add is 2 FLOPs. Products alone count: of weights with
// tokens, queries with keys, scores with values. Looking up an embedding, norms, activations,
// softmax, biases and the loss are no products. Backward, each gradient that reverse accumulation
// has to make is a product of the size of its forward one; where parameters are frozen, those
// that nothing asks for are left out.
// Source: derived in docs/transformer.md.
StepFlops CountFlops(const ArchitectureSpec& spec, const WeightTensors& tensors,
                     const TrainingStepSpec& step, FlopsDetail detail);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_COUNT_FLOPS_H_
