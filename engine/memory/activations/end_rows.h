// The tensors kept before and after the layers: embedding, norms, head and loss. docs/memory.md,
// "What stands around the layers", derives them.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_END_ROWS_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_END_ROWS_H_

#include "engine/memory/activations/activation_list.h"

namespace sextant {

// The width of the output head's input, and of its output on this GPU.
int64_t EmbeddingSizeOf(const ArchitectureSpec& spec);
int64_t LogitsOf(const ActivationContext& context);

// The fp32 copies of logits that are in fewer bits.
LogitCopies LogitCopiesOf(const MicroBatchSpec& batch);

// True where a loss keeps the softmax in place of the logits.
bool SoftmaxTakesTheirPlace(LossKind loss);

// True where the gradient of the loss overwrites the logits themselves, and no fp32 copy.
bool OverwritesLogits(const MicroBatchSpec& batch);

// Adds the embedding rows of a stack; the list is at its part.
void AddEmbeddingRows(const StackSpec& stack, ModelPart part, ActivationList& out);

// Adds the row of a stack's final norm, if it has one.
void AddFinalNormRow(const StackSpec& stack, ModelPart part, ActivationList& out);

// Adds the encoder's output, which all cross attentions of a stage read.
void AddEncoderOutputRow(ActivationList& out);

// Adds the row of a stage's output, which a later stage reads.
void AddStageOutputRow(ActivationList& out);

// Adds the rows of pooler, output transform, head and loss.
void AddOutputRows(ActivationList& out);

// Adds the rows of a multi-token prediction module outside its layer, with its own pass through
// the head and its own loss.
void AddMultiTokenPredictionRows(ActivationList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_END_ROWS_H_
