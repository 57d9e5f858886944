// A dense decoder-only transformer, as sextant.v1.TransformerSpec describes it: a shorthand for an
// ArchitectureSpec of equal layers. Field names are the proto's, so that a violation's path is a
// field's name.
#ifndef SEXTANT_ENGINE_MODEL_TRANSFORMER_SPEC_H_
#define SEXTANT_ENGINE_MODEL_TRANSFORMER_SPEC_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

enum class NormKind {
  kUnspecified,
  kLayerNorm,      // a weight and a bias per element
  kRmsNorm,        // a weight per element
  kNonParametric,  // no parameters
};

// Sizes count elements; ranges are those of sextant.v1.TransformerSpec. A size marked "0: ..." has
// that default.
struct TransformerSpec {
  int64_t layer_count = 0;
  int64_t hidden_size = 0;
  int64_t feed_forward_size = 0;
  int64_t attention_head_count = 0;
  int64_t key_value_head_count = 0;  // 0: attention_head_count
  int64_t head_size = 0;             // 0: hidden_size / attention_head_count
  int64_t vocabulary_size = 0;
  bool tied_embeddings = false;
  int64_t learned_position_count = 0;  // 0: none (rotary)
  FeedForwardKind feed_forward_kind = FeedForwardKind::kUnspecified;
  NormKind norm_kind = NormKind::kUnspecified;
  int64_t norms_per_layer = 2;
  bool final_norm = true;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  bool query_key_value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  bool output_head_bias = false;
  int64_t embedding_size = 0;  // 0: hidden_size, no projections
};

// Appends all errors of `spec` to `violations`, under paths that start with `path` (e.g.
// "model.transformer").
void CheckTransformer(const TransformerSpec& spec, absl::string_view path,
                      FieldViolations& violations);

// `spec` with its zero sizes replaced by their defaults. Call CheckTransformer() first: in an
// invalid spec sizes may not divide.
TransformerSpec WithDefaults(TransformerSpec spec);

// The architecture of `spec`, which has passed CheckTransformer(), with one kind of layer named
// "dense". `spec` gives the number of norms per layer but not their places: the first is before
// attention, the second before the feed-forward, the third and fourth after them.
ArchitectureSpec DenseDecoder(const TransformerSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRANSFORMER_SPEC_H_
