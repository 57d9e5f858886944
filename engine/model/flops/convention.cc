#include "engine/model/flops/convention.h"

#include "engine/model/flops/layer_flops.h"

namespace sextant {
namespace {

using enum FlopsConvention;

// docs/sources.md lists the sources that were read.
constexpr ConventionFacts kFacts[] = {
    {kSixNTotal, "six_n_total",
     "6 FLOPs a token for each parameter that the token meets, embeddings included: of a mixture, "
     "the active ones",
     "Kaplan et al. 2020 (arXiv 2001.08361) section 2.1, C = 6 N D; docs/transformer.md",
     FlopsKind::kModel},
    {kSixNNonEmbedding, "six_n_non_embedding",
     "6 FLOPs a token for each parameter that the token meets, without embeddings and output head",
     "Kaplan et al. 2020 (arXiv 2001.08361) section 2.1, C = 6 N D; docs/transformer.md",
     FlopsKind::kModel},
    {kKaplan2020, "kaplan_2020",
     "3 (2 N + 2 L s d_attn) for N = 2 L d_model (2 d_attn + d_ff): no embedding, no output head",
     "Kaplan et al. 2020 (arXiv 2001.08361) table 1 and section 2.1", FlopsKind::kModel},
    {kChinchilla2022, "chinchilla_2022",
     "3 times the forward pass term by term: embeddings as a product, full mask, softmax, logits",
     "Hoffmann et al. 2022 (arXiv 2203.15556) appendix F", FlopsKind::kModel},
    {kPalm2022, "palm_2022",
     "6 N + 12 L H Q T: all parameters, and both products of attention under a full mask",
     "Chowdhery et al. 2022 (arXiv 2204.02311) appendix B", FlopsKind::kModel},
    {kMegatron2021Hardware, "megatron_2021_hardware",
     "96 L h^2 (1 + s/6h + V/16Lh): four passes of the layers, one of them recomputed, and three "
     "of the head",
     "Narayanan et al. 2021 (arXiv 2104.04473) section 5.1 and appendix", FlopsKind::kHardware},
    {kMegatron2021Model, "megatron_2021_model",
     "72 L h^2 (1 + s/6h + V/12Lh): the same without what is recomputed",
     "Korthikanti et al. 2022 (arXiv 2205.05198) appendix A", FlopsKind::kModel},
    {kMegatronCausal, "megatron_causal",
     "Megatron-LM's own counter: half a mask, experts_per_token experts, shared experts, latent "
     "attention, multi-token prediction, padded vocabulary; no router, no windows",
     "NVIDIA/Megatron-LM, megatron/training/training.py, num_floating_point_operations()",
     FlopsKind::kModel},
    {kExactFull, "exact_full", "every matrix product, attention as if its causal mask hid nothing",
     "docs/transformer.md", FlopsKind::kModel},
    {kExactCausal, "exact_causal",
     "every matrix product, attention over half of the square (s/2 positions a token)",
     "docs/transformer.md", FlopsKind::kModel},
    {kExactCausalDiagonal, "exact_causal_diagonal",
     "every matrix product, attention over what the mask lets through ((s + 1)/2 a token)",
     "docs/transformer.md", FlopsKind::kModel},
};

static_assert(sizeof(kFacts) / sizeof(kFacts[0]) == kFlopsConventionCount);

constexpr bool InOrder() {
  for (int i = 0; i < kFlopsConventionCount; ++i) {
    if (static_cast<int>(kFacts[i].convention) != i) return false;
  }
  return true;
}

static_assert(InOrder());

FlopsTerm TermOf(FlopsComponent component) {
  constexpr FlopsTerm kTerms[] = {
      FlopsTerm::kEmbeddingProjection,
      FlopsTerm::kAttentionProjections,
      FlopsTerm::kAttentionProjections,
      FlopsTerm::kCoreAttention,
      FlopsTerm::kCoreAttention,
      FlopsTerm::kAttentionProjections,
      FlopsTerm::kMixers,
      FlopsTerm::kMixers,
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
    case WeightComponent::kMixer:
      return FlopsTerm::kMixers;
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

const ConventionFacts& FactsOf(FlopsConvention convention) {
  return kFacts[static_cast<size_t>(convention)];
}

absl::string_view FlopsTermName(FlopsTerm term) {
  constexpr absl::string_view kNames[] = {
      "embedding_lookup", "embedding_projection",
      "norms_and_biases", "attention_projections",
      "core_attention",   "softmax",
      "mixers",           "feed_forward",
      "router",           "routed_experts",
      "shared_experts",   "multi_token_projection",
      "pooler",           "output_transform",
      "output_head",      "adapters",
      "recompute",
  };
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kFlopsTermCount);
  return kNames[static_cast<size_t>(term)];
}

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
