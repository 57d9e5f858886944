// Training FLOPs from parameters and tokens alone.
#ifndef SEXTANT_ENGINE_MODEL_TRAINING_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_TRAINING_FLOPS_H_

#include <cstdint>

#include "engine/base/units.h"

namespace sextant {

// FLOPs a parameter and token: one multiply-add forward (2), two backward (4), for the
// gradients of the input and of the weight.
// Source: Kaplan et al. 2020 (arXiv 2001.08361) section 2.1, C = 6 N D; derived in
// docs/flops.md.
inline constexpr double kFlopsPerParameterAndToken = 6;

// 6 N: FLOPs of one token, forward and backward. Attention's products of activations with
// activations and all elementwise work are left out.
constexpr Flops TrainingFlopsPerToken(int64_t parameter_count) {
  return Flops(kFlopsPerParameterAndToken * static_cast<double>(parameter_count));
}

// 6 N D: FLOPs of the whole run.
constexpr Flops TrainingFlops(int64_t parameter_count, int64_t token_count) {
  return TrainingFlopsPerToken(parameter_count) * static_cast<double>(token_count);
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRAINING_FLOPS_H_
