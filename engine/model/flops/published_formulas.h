// The formulas of papers and programs, term by term, in FLOPs per token, and the models that they
// apply to.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_FORMULAS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_FORMULAS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

// A decoder of equal layers on sequences of one length, in the papers' symbols.
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

// The features that a formula supports beyond the first transformers: multi-head, causal, with an
// ungated feed-forward.
struct ShapeLimits {
  bool grouped_queries = false;
  bool gated = false;
};

// Errors: kFailedPrecondition, whose message says what the formula leaves undefined.
absl::StatusOr<PublishedShape> PublishedShapeOf(const ArchitectureSpec& spec,
                                                const TrainingStepSpec& step,
                                                const ShapeLimits& limits);

// OK if `spec` is a complete decoder: no encoder, everything trained, no adapters, an output head,
// embeddings of the hidden size. Else kFailedPrecondition with the reason.
absl::Status CheckWholeDecoder(const ArchitectureSpec& spec);

// True where any part of the model is frozen.
bool HasFrozen(const ArchitectureSpec& spec);

// Rows of the output head.
double HeadRows(const ArchitectureSpec& spec);

// 3 (2 N + 2 L s d_attn), N = 2 L d_model (2 d_attn + d_ff).
// Source: Kaplan et al. 2020 (arXiv 2001.08361), table 1 and section 2.1.
TermFlops KaplanTerms(const PublishedShape& shape);

// 3 times the forward pass, per token: embedding 2 V h; in each layer 6 h d_attn for queries, keys
// and values, 2 s d_attn for scores, 3 a s for softmax, 2 s d_attn for their sum, 2 d_attn h for
// the output, 4 h f; logits 2 h V.
// Source: Hoffmann et al. 2022 (arXiv 2203.15556), appendix F.
TermFlops ChinchillaTerms(const PublishedShape& shape);

// 6 N + 12 L H Q T, where N is all parameters.
// Source: Chowdhery et al. 2022 (arXiv 2204.02311), appendix B.
TermFlops PalmTerms(const WeightTensors& tensors, const PublishedShape& shape);

// 72 L h^2 (1 + s/6h + V/12Lh), and with `recompute` 96 L h^2 (1 + s/6h + V/16Lh): a fourth pass
// of the layers. For heads that together are as wide as the model, and feed-forwards of 4 h.
// Source: Narayanan et al. 2021 (arXiv 2104.04473), appendix; Korthikanti et al. 2022 (arXiv
// 2205.05198), appendix A.
TermFlops Megatron2021Terms(const PublishedShape& shape, bool recompute);

// Megatron-LM's current count. For each layer 6 (projections + s/2 (a d + a v) + feed-forward),
// where a mixture has experts_per_token experts and the shared ones; 6 per weight of the norms of
// latents; for each multi-token prediction module a layer, 6 (2 h^2 + 3 h) and a head; heads 6 h
// V. In ragged batches the mean of s is weighted by tokens. Not counted: router, the shared
// experts' gate, windows. Source: NVIDIA/Megatron-LM, megatron/training/training.py,
// num_floating_point_operations(). Errors: kFailedPrecondition, whose message says what the
// counter leaves undefined.
absl::StatusOr<TermFlops> MegatronCausalTerms(const ArchitectureSpec& spec,
                                              const TrainingStepSpec& step);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_FORMULAS_H_
