// Whether a model is of the kind that a published formula is written for, and its sizes.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_SHAPE_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_SHAPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

// A decoder of equal layers on sequences of one length, in the letters of the papers.
struct PublishedShape {
  double layers;        // L
  double hidden;        // h, d_model
  double heads;         // a, H
  double head_size;     // e, Q
  double feed_forward;  // f, d_ff
  double vocabulary;    // V, padded
  double length;        // s, T, n_ctx

  double attention() const { return heads * head_size; }  // d_attn
};

// What a formula can take beyond the first transformers: multi-head, causal, an ungated
// feed-forward.
struct ShapeLimits {
  bool grouped_queries = false;
  bool gated = false;
};

// Errors: kFailedPrecondition, its message saying what the formula leaves undefined.
absl::StatusOr<PublishedShape> PublishedShapeOf(const ArchitectureSpec& spec,
                                                const TrainingStepSpec& step,
                                                const ShapeLimits& limits);

// OK if `spec` is a decoder, alone and whole: no encoder, everything trained, no adapters, an
// output head, embeddings of the hidden size. Else kFailedPrecondition, saying why not.
absl::Status CheckWholeDecoder(const ArchitectureSpec& spec);

// Whether any part of the model is not trained.
bool HasFrozen(const ArchitectureSpec& spec);

// Rows of the output head.
double HeadRows(const ArchitectureSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_SHAPE_H_
