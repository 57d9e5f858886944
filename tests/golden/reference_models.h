// The models of the reference cases and of published FLOPs, as architectures.
#ifndef SEXTANT_TESTS_GOLDEN_REFERENCE_MODELS_H_
#define SEXTANT_TESTS_GOLDEN_REFERENCE_MODELS_H_

#include <string>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

// A dense decoder of equal layers: heads of hidden size / heads, no biases, RMSNorm.
struct DecoderShape {
  int64_t layers;
  int64_t hidden;
  int64_t heads;
  int64_t key_value_heads;
  FeedForwardKind kind;
  int64_t feed_forward;
  int64_t vocabulary;
  bool tied = false;
};

ArchitectureSpec DecoderOf(const DecoderShape& shape);

// Cases A to D of the shared tables: GPT-3 175B (its vocabulary padded to 51,200), Llama-2-7B,
// Llama-3-70B and Mixtral 8x7B.
ArchitectureSpec ReferenceModel(const std::string& name);

// One sequence of `length` tokens.
TrainingStepSpec OneSequence(int64_t length);

}  // namespace sextant

#endif  // SEXTANT_TESTS_GOLDEN_REFERENCE_MODELS_H_
