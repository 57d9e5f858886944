#include "engine/model/transformer_spec.h"

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

// The most features of a head: Attention.query_key_head_size's limit.
constexpr int64_t kMaxHeadFeatures = 1'000'000;

void CheckHeads(const TransformerSpec& s, absl::string_view path, FieldViolations& violations) {
  if (s.attention_head_count < 1 || s.hidden_size < 1) return;  // reported already
  if (s.key_value_head_count > 0 && s.attention_head_count % s.key_value_head_count != 0) {
    violations.Add(FieldPath(path, "key_value_head_count"),
                   absl::StrCat("must divide attention_head_count (", s.attention_head_count,
                                "), which ", s.key_value_head_count, " does not"));
  }
  if (s.head_size == 0 && s.hidden_size % s.attention_head_count != 0) {
    violations.Add(FieldPath(path, "attention_head_count"),
                   absl::StrCat("must divide hidden_size (", s.hidden_size, "), which ",
                                s.attention_head_count, " does not; or give head_size"));
  } else if (s.head_size == 0 && s.hidden_size / s.attention_head_count > kMaxHeadFeatures) {
    violations.Add(FieldPath(path, "attention_head_count"),
                   absl::StrCat("makes heads of ", s.hidden_size / s.attention_head_count,
                                " features, more than ", kMaxHeadFeatures, ": give more heads"));
  }
}

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

// The norm of queries and keys has only a weight, for every kind of layer norm.
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

void CheckTransformer(const TransformerSpec& s, absl::string_view path,
                      FieldViolations& violations) {
  // An enum number unknown to the wire's translator is already reported.
  if (s.feed_forward_kind == FeedForwardKind::kUnspecified &&
      !violations.Mentions(FieldPath(path, "feed_forward_kind"))) {
    violations.Add(FieldPath(path, "feed_forward_kind"),
                   "is required: write FEED_FORWARD_KIND_PLAIN or FEED_FORWARD_KIND_GATED");
  }
  if (s.norm_kind == NormKind::kUnspecified && !violations.Mentions(FieldPath(path, "norm_kind"))) {
    violations.Add(FieldPath(path, "norm_kind"),
                   "is required: write NORM_KIND_LAYER_NORM, NORM_KIND_RMS_NORM or "
                   "NORM_KIND_NON_PARAMETRIC");
  }
  CheckHeads(s, path, violations);
}

TransformerSpec WithDefaults(TransformerSpec spec) {
  if (spec.key_value_head_count == 0) spec.key_value_head_count = spec.attention_head_count;
  if (spec.head_size == 0) spec.head_size = spec.hidden_size / spec.attention_head_count;
  if (spec.embedding_size == 0) spec.embedding_size = spec.hidden_size;
  return spec;
}

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
