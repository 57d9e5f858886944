// The formulas of papers and programs, term by term, in FLOPs a token.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_FORMULAS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_FORMULAS_H_

#include "absl/status/statusor.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/published_shape.h"
#include "engine/model/flops/term_flops.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

// 3 (2 N + 2 L s d_attn), N = 2 L d_model (2 d_attn + d_ff).
// Source: Kaplan et al. 2020 (arXiv 2001.08361), table 1 and section 2.1.
TermFlops KaplanTerms(const PublishedShape& shape);

// 3 times the forward pass a token: embedding 2 V h; in each layer 6 h d_attn for queries, keys
// and values, 2 s d_attn for scores, 3 a s for softmax, 2 s d_attn for their sum, 2 d_attn h for
// the output, 4 h f; logits 2 h V.
// Source: Hoffmann et al. 2022 (arXiv 2203.15556), appendix F.
TermFlops ChinchillaTerms(const PublishedShape& shape);

// 6 N + 12 L H Q T, N being all parameters.
// Source: Chowdhery et al. 2022 (arXiv 2204.02311), appendix B.
TermFlops PalmTerms(const WeightTensors& tensors, const PublishedShape& shape);

// 72 L h^2 (1 + s/6h + V/12Lh), and with `recompute` 96 L h^2 (1 + s/6h + V/16Lh): a fourth
// pass of the layers. For heads as wide as the model together, and feed-forwards of 4 h.
// Source: Narayanan et al. 2021 (arXiv 2104.04473), appendix; Korthikanti et al. 2022 (arXiv
// 2205.05198), appendix A.
TermFlops Megatron2021Terms(const PublishedShape& shape, bool recompute);

// What Megatron-LM counts today. For each layer 6 (projections + s/2 (a d + a v) + feed-forward),
// of a mixture experts_per_token experts and the shared ones; 6 a weight of the norms of latents;
// for each module of multi-token prediction a layer, 6 (2 h^2 + 3 h) and a head; heads 6 h V. Of
// ragged batches the mean of s is weighted by tokens. Not counted: router, the shared experts'
// gate, windows.
// Source: NVIDIA/Megatron-LM, megatron/training/training.py, num_floating_point_operations().
// Errors: kFailedPrecondition, its message saying what the counter leaves undefined.
absl::StatusOr<TermFlops> MegatronCausalTerms(const ArchitectureSpec& spec,
                                              const TrainingStepSpec& step);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_PUBLISHED_FORMULAS_H_
