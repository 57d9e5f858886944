// One kind of transformer layer, as data: what it attends with, what it feeds forward through
// and which norms it has. Sizes count elements.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_SPEC_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_SPEC_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "engine/model/transformer_spec.h"

namespace sextant {

// Norms by what they learn.
enum class NormVariant {
  kUnspecified,
  kLayerNorm,               // a weight and a bias an element
  kBiasFreeLayerNorm,       // a weight an element
  kRmsNorm,                 // a weight an element
  kNonParametricLayerNorm,  // nothing
};

// Multi-head latent attention: keys and values, and maybe queries, pass through narrow latents,
// each of which is normalised. The rotary part of a key is one for all heads and bypasses the
// latent.
struct LatentSpec {
  int64_t query_rank = 0;  // 0: queries are not compressed
  int64_t key_value_rank = 0;
  int64_t rotary_size = 0;  // part of AttentionSpec::query_key_head_size; 0: none
  bool down_bias = false;   // of the projections into the latents
};

enum class AttentionMask { kCausal, kFull };

// Attention of `head_count` query heads over `key_value_head_count` heads: as many make it
// multi-head, one multi-query, a number between grouped-query attention.
struct AttentionSpec {
  int64_t head_count = 0;
  int64_t key_value_head_count = 0;
  int64_t query_key_head_size = 0;
  int64_t value_head_size = 0;
  absl::optional<LatentSpec> latent = {};
  bool query_bias = false;
  bool key_bias = false;
  bool value_bias = false;
  bool output_bias = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  NormVariant query_key_norm_variant = NormVariant::kUnspecified;  // the layer's
  bool sinks = false;  // a learned logit a head, which takes attention from all tokens
  AttentionMask mask = AttentionMask::kCausal;
  int64_t window = 0;  // tokens that a query sees back, itself included; 0: all
  int64_t chunk = 0;   // tokens of the blocks that attend only within themselves; 0: one block
};

struct FeedForwardSpec {
  FeedForwardKind kind = FeedForwardKind::kUnspecified;
  int64_t size = 0;
  bool input_bias = false;  // of up, and of gate
  bool output_bias = false;
};

// A mixture of experts: a router sends a token to `experts_per_token` of `expert_count` experts;
// the shared experts see every token.
struct ExpertsSpec {
  int64_t expert_count = 0;
  int64_t experts_per_token = 0;
  FeedForwardSpec expert = {};
  int64_t shared_expert_count = 0;
  FeedForwardSpec shared_expert = {};  // of each; given if there are any
  bool shared_expert_gate = false;     // hidden_size weights that scale the shared output
  bool router_bias = false;
  bool router_correction_bias = false;  // moved by the expert loads, not by the loss
};

// Where a layer normalises. "Before" is the input of a branch; "after" its output, or the sum of
// the output with the residual: the count is the same.
struct LayerNorms {
  bool before_attention = true;
  bool after_attention = false;
  bool before_cross_attention = false;
  bool before_feed_forward = true;
  bool after_feed_forward = false;
  bool after_cross_attention = false;
};

// A layer with both a feed-forward and experts adds their outputs. Branches that run in parallel
// and share a norm have before_attention alone.
struct LayerSpec {
  std::string name;  // "dense", "experts", "sliding"
  NormVariant norm = NormVariant::kUnspecified;
  LayerNorms norms = {};
  absl::optional<AttentionSpec> attention = {};
  absl::optional<AttentionSpec> cross_attention = {};  // over the encoder's output
  absl::optional<FeedForwardSpec> feed_forward = {};
  absl::optional<ExpertsSpec> experts = {};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_LAYER_SPEC_H_
