// What the parts of a model share while its FLOPs are counted.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_MODEL_FLOPS_CONTEXT_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_MODEL_FLOPS_CONTEXT_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/attended_length.h"
#include "engine/model/flops/flops_tally.h"
#include "engine/model/flops/layer_flops.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

struct ModelFlopsContext {
  const ArchitectureSpec& spec;
  const TrainingStepSpec& step;
  const TokenShares& shares;
  FlopsTally& tally;
};

// Whether the model has an encoder and a decoder.
inline bool HasTwoStacks(const ArchitectureSpec& spec) {
  return !spec.encoder.layers.empty() && !spec.decoder.layers.empty();
}

// What all layers of `kind` in `part` have in common; gradients are the caller's.
LayerGroup LayerGroupOf(const ModelFlopsContext& context, ModelPart part, int kind,
                        absl::Span<const WeightTensor> tensors);

// Whether any of `tensors`, which lie outside layers, is a trained one of that name.
bool Trains(absl::Span<const WeightTensor> tensors, absl::string_view module,
            absl::string_view name);

// The next tensors of one part and kind of layer, taken off the front of `rest`; empty if those
// are not of `part`, or not of a layer where `layers`, or of one where not.
absl::Span<const WeightTensor> TakeGroup(ModelPart part, bool layers,
                                         absl::Span<const WeightTensor>& rest);

// How often a matrix outside layers meets a token, and whether what it reads needs a gradient.
struct MatrixUse {
  double uses;
  bool input_needs_gradient;
};

// Adds a matrix outside layers: under `component`, unless it is an adapter's.
void AddMatrix(const WeightTensor& tensor, FlopsComponent component, const MatrixUse& use,
               FlopsTally& tally);

// A table that is looked up multiplies nothing. Of its adapter, the second matrix is looked up
// and the first one multiplies what was found.
void AddLookup(const WeightTensor& tensor, double uses, FlopsTally& tally);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_MODEL_FLOPS_CONTEXT_H_
