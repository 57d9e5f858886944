// The named conventions for counting a model's training FLOPs, and the terms in which they differ.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_CONVENTION_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_CONVENTION_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/step_flops.h"

namespace sextant {

enum class FlopsConvention {
  kSixNTotal,
  kSixNNonEmbedding,
  kKaplan2020,
  kChinchilla2022,
  kPalm2022,
  kMegatron2021Hardware,
  kMegatron2021Model,
  kMegatronCausal,
  kExactFull,
  kExactCausal,  // the reference for all others
  kExactCausalDiagonal,
};

inline constexpr int kFlopsConventionCount = 11;

// Hardware FLOPs include recomputation; model FLOPs don't.
enum class FlopsKind { kModel, kHardware };

struct ConventionFacts {
  FlopsConvention convention;
  absl::string_view name;        // "six_n_total"
  absl::string_view definition;  // one sentence
  absl::string_view source;
  FlopsKind kind;
};

const ConventionFacts& FactsOf(FlopsConvention convention);

// The terms in which conventions differ.
enum class FlopsTerm {
  kEmbeddingLookup,
  kEmbeddingProjection,
  kNormsAndBiases,
  kAttentionProjections,
  kCoreAttention,
  kSoftmax,
  kMixers,  // matrices, convolutions and recurrences
  kFeedForward,
  kRouter,
  kRoutedExperts,
  kSharedExperts,
  kMultiTokenProjection,
  kPooler,
  kOutputTransform,
  kOutputHead,
  kAdapters,
  kRecompute,
};

inline constexpr int kFlopsTermCount = 17;

// "core_attention", "output_head", ...
absl::string_view FlopsTermName(FlopsTerm term);

// FLOPs by term, forward and backward, per token, for comparing two conventions.
class TermFlops {
 public:
  void Add(FlopsTerm term, double flops) { terms_[static_cast<size_t>(term)] += flops; }
  double of(FlopsTerm term) const { return terms_[static_cast<size_t>(term)]; }
  double Total() const;

 private:
  std::array<double, kFlopsTermCount> terms_ = {};
};

// Model FLOPs of `flops`, which was counted with FlopsDetail::kComponents.
TermFlops ExactTerms(const StepFlops& flops, MaskConvention mask);

// 6 per active parameter; without parameters that are IsEmbedding() if not `embeddings`.
TermFlops SixNTerms(const WeightTensors& tensors, bool embeddings);

// FLOPs per parameter and token: one multiply-add forward (2), two backward (4), for the gradients
// of the input and of the weight.
// Source: Kaplan et al. 2020 (arXiv 2001.08361) section 2.1, C = 6 N D; derived in
// docs/transformer.md, "6 N D".
inline constexpr double kFlopsPerParameterAndToken = 6;

// 6 N: FLOPs of one token, forward and backward. Excludes products of activations with activations
// in attention, and all elementwise work.
constexpr Flops TrainingFlopsPerToken(int64_t parameter_count) {
  return Flops(kFlopsPerParameterAndToken * static_cast<double>(parameter_count));
}

// 6 N D: FLOPs of the whole run.
constexpr Flops TrainingFlops(int64_t parameter_count, int64_t token_count) {
  return TrainingFlopsPerToken(parameter_count) * static_cast<double>(token_count);
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_CONVENTION_H_
