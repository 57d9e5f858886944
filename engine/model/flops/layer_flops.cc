#include "engine/model/flops/layer_flops.h"

#include "absl/strings/match.h"
#include "engine/model/block/mixer_block.h"
#include "engine/model/flops/activation_flow.h"
#include "engine/model/flops/saved_products.h"

namespace sextant {
namespace {

constexpr double kFlopsPerMultiplyAdd = 2;

FlopsComponent ComponentOf(WeightComponent component) {
  switch (component) {
    case WeightComponent::kAttentionLatent:
      return FlopsComponent::kAttentionLatent;
    case WeightComponent::kAttentionOutput:
      return FlopsComponent::kAttentionOutput;
    case WeightComponent::kMixer:
      return FlopsComponent::kMixer;
    case WeightComponent::kRouter:
      return FlopsComponent::kRouter;
    case WeightComponent::kRoutedExperts:
      return FlopsComponent::kRoutedExperts;
    case WeightComponent::kSharedExperts:
      return FlopsComponent::kSharedExperts;
    case WeightComponent::kDenseFeedForward:
      return FlopsComponent::kDenseFeedForward;
    case WeightComponent::kAdapter:
      return FlopsComponent::kAdapter;
    default:
      return FlopsComponent::kAttentionQueryKeyValue;
  }
}

ActivationSet NeedsOf(const LayerGroup& group, const LayerState& state) {
  ActivationSet known;
  if (state.input_needs_gradient) known = known | ActivationSite::kLayerInput;
  if (group.layer.attention.has_value() && group.scores_bias_trained) {
    known = known | ActivationSite::kScores;
  }
  if (group.layer.cross_attention.has_value() && group.encoder_output_needs_gradient) {
    known = known | ActivationSite::kEncoderOutput;
  }
  for (const WeightTensor& tensor : group.tensors) {
    if (IsTrained(tensor, state.frozen)) known = known | MadeBy(tensor, group.layer);
  }
  return NeedGradient(known, group.layer);
}

// The activations of one attention: self or cross.
struct CoreAttention {
  const AttentionSpec& attention;
  ActivationSite query;
  ActivationSite key;
  ActivationSite value;
  ActivationSite scores;
  ActivationSite heads;
};

class LayerCount {
 public:
  LayerCount(const LayerGroup& group, const LayerState& state, FlopsTally& tally)
      : group_(group),
        state_(state),
        needs_(NeedsOf(group, state)),
        layers_(static_cast<double>(state.layers)),
        tally_(tally) {
    if (group.recompute == RecomputePolicy::kOperators) saved_.emplace(group.layer);
  }

  void AddProducts() {
    for (const WeightTensor& tensor : group_.tensors) {
      if (IsMatrix(tensor)) AddProduct(tensor);
    }
  }

  // The gradients of what a recurrence reads have products of twice the size of its own.
  void AddMixerCore(int64_t hidden_size) {
    if (!group_.layer.mixer.has_value()) return;
    const BlockCore core = MixerBlock(*group_.layer.mixer, hidden_size).core;
    const Flops forward(core.forward_flops * group_.tokens * layers_);
    tally_.Add(FlopsComponent::kMixerCore,
               PassFlops{.forward = forward,
                         .input_gradient = forward * (needs_.Has(ActivationSite::kMixer) ? 2 : 0),
                         .recompute = forward * RecomputesLayer()});
  }

  void AddCoreAttentions() {
    if (group_.layer.attention.has_value()) {
      using Site = ActivationSite;
      AddCore({*group_.layer.attention, Site::kQuery, Site::kKey, Site::kValue, Site::kScores,
               Site::kHeads},
              group_.attended);
      const auto& latent = group_.layer.attention->latent;
      if (latent.has_value() && latent->indexer.has_value() && !latent->indexer->shared) {
        AddIndexer(*latent->indexer);
      }
    }
    if (group_.layer.cross_attention.has_value()) {
      using Site = ActivationSite;
      ByMask<double> pairs;
      pairs.fill(group_.cross_pairs);
      AddCore({*group_.layer.cross_attention, Site::kCrossQuery, Site::kCrossKey, Site::kCrossValue,
               Site::kCrossScores, Site::kCrossHeads},
              pairs);
    }
  }

 private:
  bool RecomputesLayer() const {
    return RepeatsLayers(group_.recompute) && needs_.Has(ActivationSite::kLayerOutput);
  }

  void AddProduct(const WeightTensor& tensor) {
    const ActivationSite reads = SiteOf(tensor).reads;
    const bool routed = tensor.module == "experts";
    const double tokens =
        reads == ActivationSite::kEncoderOutput ? group_.encoder_tokens : group_.tokens;
    // The input of an adapter's second matrix is the output of its first, which is trained.
    const bool inner = tensor.role == WeightRole::kAdapterUp;
    const bool saved = saved_.has_value() && saved_->Has(tensor.module, tensor.name);
    tally_.Add(
        ComponentOf(tensor.component),
        PassesOf({.forward = ProductOf(tensor) * tokens * layers_,
                  .input_needs_gradient = inner || (needs_.Has(reads) && !IsDetached(tensor)),
                  .trained = IsTrained(tensor, state_.frozen),
                  .recomputed = RecomputesLayer() && !saved,
                  .capacity = routed ? group_.expert_capacity : 1}));
  }

  // Source: S = Q K^T and O = P V; backward dV = P^T dO, dP = dO V^T, dQ = dS K, dK = dS^T Q: each
  // the size of its forward product. FlashAttention (arXiv 2205.14135, section 3.1 and appendix B)
  // recomputes S in its backward pass.
  void AddCore(const CoreAttention& core, const ByMask<double>& pairs) {
    const double heads =
        kFlopsPerMultiplyAdd * layers_ * static_cast<double>(core.attention.head_count);
    const bool backward = needs_.Has(core.heads);
    const bool recomputed = (RecomputesLayer() && !saved_.has_value()) ||
                            (group_.recompute == RecomputePolicy::kSelective && backward);
    const int score_gradients = needs_.Has(core.query) + needs_.Has(core.key);
    const int value_gradients = needs_.Has(core.value) + needs_.Has(core.scores);
    ByMask<PassFlops> scores;
    ByMask<PassFlops> values;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const Flops qk(heads * static_cast<double>(core.attention.query_key_head_size) * pairs[i]);
      const Flops pv(heads * static_cast<double>(core.attention.value_head_size) * pairs[i]);
      scores[i] = {.forward = qk,
                   .input_gradient = qk * score_gradients,
                   .recompute = qk * recomputed,
                   .flash_recompute = qk * backward};
      values[i] = {
          .forward = pv, .input_gradient = pv * value_gradients, .recompute = pv * recomputed};
    }
    tally_.Add(FlopsComponent::kAttentionScores, scores);
    tally_.Add(FlopsComponent::kAttentionValues, values);
  }

  // Scores of all positions, with gradients for its own queries and keys.
  void AddIndexer(const IndexerSpec& indexer) {
    const double width = kFlopsPerMultiplyAdd * layers_ *
                         static_cast<double>(indexer.head_count * indexer.head_size);
    ByMask<PassFlops> scores;
    for (size_t i = 0; i < scores.size(); ++i) {
      const Flops qk(width * group_.indexed[i]);
      scores[i] = {.forward = qk,
                   .input_gradient = qk * (state_.frozen ? 0 : 2),
                   .recompute = qk * RecomputesLayer()};
    }
    tally_.Add(FlopsComponent::kAttentionScores, scores);
  }

  const LayerGroup& group_;
  const LayerState& state_;
  const ActivationSet needs_;
  const double layers_;
  FlopsTally& tally_;
  absl::optional<SavedProducts> saved_ = {};  // of recomputation by operator
};

}  // namespace

bool IsDetached(const WeightTensor& tensor) { return absl::StartsWith(tensor.name, "indexer_"); }

bool IsMatrix(const WeightTensor& tensor) {
  return tensor.role != WeightRole::kBias && tensor.component != WeightComponent::kNorm &&
         tensor.component != WeightComponent::kBias &&
         tensor.component != WeightComponent::kAttentionSinks;
}

double ProductOf(const WeightTensor& tensor) {
  return kFlopsPerMultiplyAdd * static_cast<double>(tensor.rows) *
         static_cast<double>(tensor.columns) * static_cast<double>(tensor.active_copies);
}

bool OutputNeedsGradient(const LayerGroup& group, const LayerState& state) {
  return NeedsOf(group, state).Has(ActivationSite::kLayerOutput);
}

void AddLayerFlops(const LayerGroup& group, const LayerState& state, FlopsTally& tally) {
  LayerCount count(group, state, tally);
  count.AddProducts();
  count.AddCoreAttentions();
  count.AddMixerCore(group.hidden_size);
}

}  // namespace sextant
