#include "engine/model/flops/term_flops.h"

#include "engine/model/flops/layer_flops.h"
#include "engine/model/training_flops.h"

namespace sextant {
namespace {

FlopsTerm TermOf(FlopsComponent component) {
  constexpr FlopsTerm kTerms[] = {
      FlopsTerm::kEmbeddingProjection,
      FlopsTerm::kAttentionProjections,
      FlopsTerm::kAttentionProjections,
      FlopsTerm::kCoreAttention,
      FlopsTerm::kCoreAttention,
      FlopsTerm::kAttentionProjections,
      FlopsTerm::kRouter,
      FlopsTerm::kRoutedExperts,
      FlopsTerm::kSharedExperts,
      FlopsTerm::kFeedForward,
      FlopsTerm::kMultiTokenProjection,
      FlopsTerm::kPooler,
      FlopsTerm::kOutputTransform,
      FlopsTerm::kOutputHead,
      FlopsTerm::kAdapters,
  };
  static_assert(sizeof(kTerms) / sizeof(kTerms[0]) == kFlopsComponentCount);
  return kTerms[static_cast<size_t>(component)];
}

FlopsTerm TermOf(const WeightTensor& tensor) {
  if (!IsMatrix(tensor)) return FlopsTerm::kNormsAndBiases;
  switch (tensor.component) {
    case WeightComponent::kTokenEmbedding:
    case WeightComponent::kPositionEmbedding:
    case WeightComponent::kTokenTypeEmbedding:
      return FlopsTerm::kEmbeddingLookup;
    case WeightComponent::kEmbeddingProjection:
      return FlopsTerm::kEmbeddingProjection;
    case WeightComponent::kAttentionQueryKeyValue:
    case WeightComponent::kAttentionLatent:
    case WeightComponent::kAttentionOutput:
      return FlopsTerm::kAttentionProjections;
    case WeightComponent::kRouter:
      return FlopsTerm::kRouter;
    case WeightComponent::kRoutedExperts:
      return FlopsTerm::kRoutedExperts;
    case WeightComponent::kSharedExperts:
      return FlopsTerm::kSharedExperts;
    case WeightComponent::kDenseFeedForward:
      return FlopsTerm::kFeedForward;
    case WeightComponent::kMultiTokenProjection:
      return FlopsTerm::kMultiTokenProjection;
    case WeightComponent::kPooler:
      return FlopsTerm::kPooler;
    case WeightComponent::kOutputTransform:
      return FlopsTerm::kOutputTransform;
    case WeightComponent::kOutputHead:
      return FlopsTerm::kOutputHead;
    case WeightComponent::kAdapter:
      return FlopsTerm::kAdapters;
    case WeightComponent::kAttentionSinks:  // no matrices
    case WeightComponent::kBias:
    case WeightComponent::kNorm:
      break;
  }
  return FlopsTerm::kNormsAndBiases;
}

}  // namespace

double TermFlops::Total() const {
  double sum = 0;
  for (const double flops : terms_) sum += flops;
  return sum;
}

TermFlops ExactTerms(const StepFlops& flops, MaskConvention mask) {
  TermFlops out;
  for (const ComponentFlops& row : flops.components) {
    out.Add(TermOf(row.component), row.per_token[static_cast<size_t>(mask)].Model().value());
  }
  return out;
}

TermFlops SixNTerms(const WeightTensors& tensors, bool embeddings) {
  TermFlops out;
  for (const WeightTensor& t : tensors) {
    if (!embeddings && IsEmbedding(t.component)) continue;
    const int64_t active = t.rows * t.columns * t.active_copies * t.layers;
    out.Add(TermOf(t), TrainingFlopsPerToken(active).value());
  }
  return out;
}

}  // namespace sextant
