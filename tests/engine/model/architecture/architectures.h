// Architectures that tests start from.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURES_H_
#define SEXTANT_TESTS_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURES_H_

#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// Multi-head attention of heads as wide for values as for keys, no biases, causal.
AttentionSpec Heads(int64_t head_count, int64_t key_value_head_count, int64_t head_size);

FeedForwardSpec Gated(int64_t size);
FeedForwardSpec Plain(int64_t size);  // ungated, with biases

// An RMSNorm before attention and before a gated feed-forward.
LayerSpec DenseLayer(const AttentionSpec& attention, const FeedForwardSpec& feed_forward);

// Hidden size 8, 2 layers, 4 query heads and 2 key heads of size 2, gated 32, vocabulary 100,
// untied: 3560 parameters, worked in the test of CountArchitecture().
ArchitectureSpec SmallDecoder();

// A decoder like it whose feed-forward is 4 gated experts of size 3, 2 a token.
ArchitectureSpec SmallMixture();

// An encoder and a decoder of hidden size 8, one layer each.
ArchitectureSpec SmallEncoderDecoder();

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURES_H_
