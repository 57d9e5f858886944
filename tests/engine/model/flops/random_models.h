// Random small models of every kind that an architecture can describe, and random steps of them.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_FLOPS_RANDOM_MODELS_H_
#define SEXTANT_TESTS_ENGINE_MODEL_FLOPS_RANDOM_MODELS_H_

#include <random>
#include <string>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

struct RandomModelOptions {
  bool windows = true;
  bool frozen = true;  // frozen layers and components, adapters, a frozen base
};

class RandomModels {
 public:
  RandomModels(uint32_t seed, RandomModelOptions options) : random_(seed), options_(options) {}

  // A model that CheckArchitecture() passes: a decoder, an encoder, or both.
  ArchitectureSpec Model();
  // One to three groups of sequences of it, of up to `max_length` tokens.
  TrainingStepSpec Step(const ArchitectureSpec& spec, int64_t max_length);

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Chance(int one_in = 2) { return Between(1, one_in) == 1; }

 private:
  NormVariant Norm() { return static_cast<NormVariant>(Between(1, 4)); }
  FeedForwardSpec FeedForward();
  AttentionSpec Attention(AttentionMask mask);
  AttentionSpec CrossAttention();
  ExpertsSpec Experts();
  LayerSpec Layer(const std::string& name, AttentionMask mask);
  void AddStack(AttentionMask mask, ArchitectureSpec& spec, StackSpec& stack);
  void AddOutput(ArchitectureSpec& spec);
  void FreezeComponents(ArchitectureSpec& spec);
  void Freeze(ArchitectureSpec& spec);

  std::mt19937 random_;
  const RandomModelOptions options_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_FLOPS_RANDOM_MODELS_H_
