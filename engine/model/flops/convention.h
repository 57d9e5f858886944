// The named ways of counting a model's training FLOPs.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_CONVENTION_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_CONVENTION_H_

#include "absl/strings/string_view.h"

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
  kExactCausal,  // what all others are compared with
  kExactCausalDiagonal,
};
inline constexpr int kFlopsConventionCount = 11;

// Hardware FLOPs contain what is computed twice to save memory; model FLOPs don't.
enum class FlopsKind { kModel, kHardware };

struct ConventionFacts {
  FlopsConvention convention;
  absl::string_view name;        // "six_n_total"
  absl::string_view definition;  // one sentence
  absl::string_view source;
  FlopsKind kind;
};

const ConventionFacts& FactsOf(FlopsConvention convention);

// What conventions differ in.
enum class FlopsTerm {
  kEmbeddingLookup,
  kEmbeddingProjection,
  kNormsAndBiases,
  kAttentionProjections,
  kCoreAttention,
  kSoftmax,
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
inline constexpr int kFlopsTermCount = 16;

// "core_attention", "output_head", ...
absl::string_view FlopsTermName(FlopsTerm term);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_CONVENTION_H_
