// The tensors that what stands around the layers keeps. docs/memory.md derives them.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_END_ROWS_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_END_ROWS_H_

#include "engine/memory/activations/activation_list.h"

namespace sextant {

// The width of what the output head reads, and of what it makes on this GPU.
int64_t EmbeddingSizeOf(const ArchitectureSpec& spec);
int64_t LogitsOf(const ActivationContext& context);

// Whether a loss keeps no logits, but their softmax alone.
bool SoftmaxTakesTheirPlace(LossKind loss);

// What embeds the tokens of a stack; the list stands at its part.
void AddEmbeddingRows(const StackSpec& stack, ModelPart part, ActivationList& out);

// A stack's final norm, if it has one.
void AddFinalNormRow(const StackSpec& stack, ModelPart part, ActivationList& out);

// The encoder's output, which all cross attentions of a stage read.
void AddEncoderOutputRow(ActivationList& out);

// Pooler, output transform, head and loss.
void AddOutputRows(ActivationList& out);

// What a module of multi-token prediction keeps around its layer, with its own pass of the head
// and its own loss.
void AddMultiTokenPredictionRows(ActivationList& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_END_ROWS_H_
