#include "engine/model/architecture/dense_decoder.h"

namespace sextant {
namespace {

NormVariant VariantOf(NormKind kind) {
  switch (kind) {
    case NormKind::kUnspecified:
      return NormVariant::kUnspecified;
    case NormKind::kLayerNorm:
      return NormVariant::kLayerNorm;
    case NormKind::kRmsNorm:
      return NormVariant::kRmsNorm;
    case NormKind::kNonParametric:
      return NormVariant::kNonParametricLayerNorm;
  }
  return NormVariant::kUnspecified;
}

// The norm of queries and keys is a weight alone, whatever the layer's kind of norm.
NormVariant QueryKeyVariantOf(const TransformerSpec& s) {
  return s.query_key_norm == QueryKeyNorm::kNone ? NormVariant::kUnspecified
                                                 : NormVariant::kRmsNorm;
}

LayerSpec LayerOf(const TransformerSpec& s) {
  const bool bias = s.query_key_value_bias;
  return {.name = "dense",
          .norm = VariantOf(s.norm_kind),
          .norms = {.before_attention = s.norms_per_layer >= 1,
                    .after_attention = s.norms_per_layer >= 3,
                    .before_feed_forward = s.norms_per_layer >= 2,
                    .after_feed_forward = s.norms_per_layer >= 4},
          .attention = AttentionSpec{.head_count = s.attention_head_count,
                                     .key_value_head_count = s.key_value_head_count,
                                     .query_key_head_size = s.head_size,
                                     .value_head_size = s.head_size,
                                     .query_bias = bias,
                                     .key_bias = bias,
                                     .value_bias = bias,
                                     .output_bias = s.attention_output_bias,
                                     .query_key_norm = s.query_key_norm,
                                     .query_key_norm_variant = QueryKeyVariantOf(s)},
          .feed_forward = FeedForwardSpec{.kind = s.feed_forward_kind,
                                          .size = s.feed_forward_size,
                                          .input_bias = s.feed_forward_bias,
                                          .output_bias = s.feed_forward_bias}};
}

}  // namespace

ArchitectureSpec DenseDecoder(const TransformerSpec& spec) {
  const TransformerSpec s = WithDefaults(spec);
  ArchitectureSpec out;
  out.hidden_size = s.hidden_size;
  out.norm = VariantOf(s.norm_kind);
  out.embedding = {.vocabulary_size = s.vocabulary_size, .embedding_size = s.embedding_size};
  out.layer_kinds = {LayerOf(s)};
  out.decoder = {.layers = {{.layer_kind = 0, .count = s.layer_count}},
                 .learned_position_count = s.learned_position_count,
                 .final_norm = s.final_norm};
  out.output = {.head = s.tied_embeddings ? OutputHeadKind::kTied : OutputHeadKind::kUntied,
                .head_bias = s.output_head_bias};
  return out;
}

}  // namespace sextant
