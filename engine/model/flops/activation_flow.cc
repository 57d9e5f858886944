#include "engine/model/flops/activation_flow.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {
namespace {

using A = ActivationSite;

struct NamedSite {
  absl::string_view name;
  WeightSite site;
};

constexpr ActivationSet kKeyAndValue = ActivationSet(A::kKey) | A::kValue;

// The rotary part of a key comes directly from key_value_down, which needs a gradient just like
// its latent.
constexpr NamedSite kAttentionSites[] = {
    {"query", {A::kAttentionInput, A::kQuery}},
    {"key", {A::kAttentionInput, A::kKey}},
    {"value", {A::kAttentionInput, A::kValue}},
    {"output", {A::kHeads, A::kAfterAttention}},
    {"query_down", {A::kAttentionInput, A::kQueryLatent}},
    {"query_latent_norm", {A::kQueryLatent, A::kQueryLatent}},
    {"query_up", {A::kQueryLatent, A::kQuery}},
    {"key_value_down", {A::kAttentionInput, A::kKeyValueLatent}},
    {"key_value_latent_norm", {A::kKeyValueLatent, A::kKeyValueLatent}},
    {"key_value_up", {A::kKeyValueLatent, kKeyAndValue}},
    {"query_norm", {A::kQuery, A::kQuery}},
    {"key_norm", {A::kKey, A::kKey}},
    {"sinks", {A::kScores, A::kScores}},
    // An indexer chooses positions, which has no gradient.
    {"indexer_query", {A::kQueryLatent, ActivationSet()}},
    {"indexer_key", {A::kAttentionInput, ActivationSet()}},
    {"indexer_key_norm", {A::kAttentionInput, ActivationSet()}},
    {"indexer_weights", {A::kAttentionInput, ActivationSet()}},
    {"output_gate", {A::kAttentionInput, A::kHeads}},
};

constexpr NamedSite kCrossAttentionSites[] = {
    {"query", {A::kCrossInput, A::kCrossQuery}},
    {"key", {A::kEncoderOutput, A::kCrossKey}},
    {"value", {A::kEncoderOutput, A::kCrossValue}},
    {"output", {A::kCrossHeads, A::kAfterCrossAttention}},
    {"query_norm", {A::kCrossQuery, A::kCrossQuery}},
    {"key_norm", {A::kCrossKey, A::kCrossKey}},
    {"sinks", {A::kCrossScores, A::kCrossScores}},
};

constexpr NamedSite kFeedForwardSites[] = {
    {"gate", {A::kFeedForwardInput, A::kFeedForwardInner}},
    {"up", {A::kFeedForwardInput, A::kFeedForwardInner}},
    {"down", {A::kFeedForwardInner, A::kLayerOutput}},
    {"activation", {A::kFeedForwardInner, A::kFeedForwardInner}},
};

constexpr NamedSite kExpertSites[] = {
    {"gate", {A::kExpertInput, A::kExpertInner}},
    {"up", {A::kExpertInput, A::kExpertInner}},
    {"down", {A::kExpertInner, A::kExpertSum}},
    {"activation", {A::kExpertInner, A::kExpertInner}},
};

constexpr NamedSite kSharedExpertSites[] = {
    {"gate", {A::kFeedForwardInput, A::kSharedExpertInner}},
    {"up", {A::kFeedForwardInput, A::kSharedExpertInner}},
    {"down", {A::kSharedExpertInner, A::kLayerOutput}},
    {"activation", {A::kSharedExpertInner, A::kSharedExpertInner}},
    {"token_gate", {A::kFeedForwardInput, A::kLayerOutput}},
};

// The correction affects the choice of experts, which has no gradient.
constexpr NamedSite kRouterSites[] = {
    {"", {A::kFeedForwardInput, A::kExpertSum}},
    {"correction", {A::kFeedForwardInput, ActivationSet()}},
    {"expert_scales", {A::kExpertSum, A::kExpertSum}},
};

constexpr NamedSite kExpertLatentSites[] = {
    {"down", {A::kFeedForwardInput, A::kExpertInput}},
    {"up", {A::kExpertSum, A::kLayerOutput}},
};

// Not trained.
constexpr NamedSite kLayerSites[] = {{"output_scale", {A::kLayerOutput, ActivationSet()}}};

constexpr NamedSite kNormSites[] = {
    {"before_attention", {A::kLayerInput, A::kAttentionInput}},
    {"after_attention", {A::kAfterAttention, A::kAfterAttention}},
    {"before_cross_attention", {A::kAfterAttention, A::kCrossInput}},
    {"after_cross_attention", {A::kAfterCrossAttention, A::kAfterCrossAttention}},
    {"before_feed_forward", {A::kAfterCrossAttention, A::kFeedForwardInput}},
    {"before_router", {A::kAfterCrossAttention, A::kFeedForwardInput}},
    {"before_experts", {A::kAfterCrossAttention, A::kExpertInput}},
    {"after_dense", {A::kLayerOutput, A::kLayerOutput}},
    {"after_experts", {A::kExpertSum, A::kExpertSum}},
    {"after_feed_forward", {A::kLayerOutput, A::kLayerOutput}},
};

constexpr struct {
  absl::string_view module;
  absl::Span<const NamedSite> sites;
} kModules[] = {
    {"attention", kAttentionSites},
    {"norm", kNormSites},
    {"feed_forward", kFeedForwardSites},
    {"experts", kExpertSites},
    {"expert_latent", kExpertLatentSites},
    {"router", kRouterSites},
    {"layer", kLayerSites},
    {"shared_experts", kSharedExpertSites},
    {"cross_attention", kCrossAttentionSites},
};

// Forward edges: if the first needs a gradient, so does the second. Residuals are included.
constexpr struct {
  ActivationSite from;
  ActivationSite to;
} kEdges[] = {
    {A::kLayerInput, A::kAttentionInput},
    {A::kAttentionInput, A::kQueryLatent},
    {A::kAttentionInput, A::kKeyValueLatent},
    {A::kAttentionInput, A::kQuery},
    {A::kAttentionInput, A::kKey},
    {A::kAttentionInput, A::kValue},
    {A::kQueryLatent, A::kQuery},
    {A::kKeyValueLatent, A::kKey},
    {A::kKeyValueLatent, A::kValue},
    {A::kQuery, A::kScores},
    {A::kKey, A::kScores},
    {A::kScores, A::kHeads},
    {A::kValue, A::kHeads},
    {A::kHeads, A::kAfterAttention},
    {A::kAttentionInput, A::kMixer},
    {A::kMixer, A::kAfterAttention},
    {A::kLayerInput, A::kAfterAttention},
    {A::kAfterAttention, A::kCrossInput},
    {A::kCrossInput, A::kCrossQuery},
    {A::kEncoderOutput, A::kCrossKey},
    {A::kEncoderOutput, A::kCrossValue},
    {A::kCrossQuery, A::kCrossScores},
    {A::kCrossKey, A::kCrossScores},
    {A::kCrossScores, A::kCrossHeads},
    {A::kCrossValue, A::kCrossHeads},
    {A::kCrossHeads, A::kAfterCrossAttention},
    {A::kAfterAttention, A::kAfterCrossAttention},
};

constexpr struct {
  ActivationSite from;
  ActivationSite to;
} kFeedForwardEdges[] = {
    {A::kFeedForwardInput, A::kFeedForwardInner},
    {A::kFeedForwardInput, A::kExpertInput},
    {A::kExpertInput, A::kExpertInner},
    {A::kFeedForwardInput, A::kSharedExpertInner},
    {A::kFeedForwardInput, A::kExpertSum},    // a router
    {A::kFeedForwardInput, A::kLayerOutput},  // a gate
    {A::kFeedForwardInner, A::kLayerOutput},
    {A::kExpertInner, A::kExpertSum},
    {A::kExpertSum, A::kLayerOutput},
    {A::kSharedExpertInner, A::kLayerOutput},
    {A::kAfterCrossAttention, A::kLayerOutput},
};

// True where a feed-forward in parallel with attention reads their shared norm, not attention's
// sum.
bool IsParallel(const LayerSpec& layer) {
  return MixesTokens(layer) && layer.norms.before_attention && !layer.norms.after_attention &&
         !layer.norms.before_feed_forward && !layer.norms.after_feed_forward;
}

template <typename Edges>
void Follow(const Edges& edges, ActivationSet& set) {
  for (const auto& edge : edges) {
    if (set.Has(edge.from)) set = set | edge.to;
  }
}

}  // namespace

WeightSite SiteOf(const WeightTensor& tensor) {
  if (tensor.block.has_value()) {
    return {tensor.block->reads_input ? A::kAttentionInput : A::kMixer,
            tensor.block->makes_output ? A::kAfterAttention : A::kMixer};
  }
  for (const auto& module : kModules) {
    if (module.module != tensor.module) continue;
    for (const NamedSite& named : module.sites) {
      if (named.name == tensor.name) return named.site;
    }
  }
  // Not reached: a test covers the site of every tensor.
  return {A::kLayerInput, A::kLayerOutput};
}

ActivationSet MadeBy(const WeightTensor& tensor, const LayerSpec& layer) {
  const ActivationSet made = SiteOf(tensor).makes;
  const bool both =
      tensor.module == "attention" && tensor.name == "key" && layer.attention->values_are_keys;
  return both ? made | A::kValue : made;
}

ActivationSet NeedGradient(ActivationSet known, const LayerSpec& layer) {
  ActivationSet set = known;
  Follow(kEdges, set);
  const A read = IsParallel(layer) ? A::kAttentionInput : A::kAfterCrossAttention;
  if (set.Has(read)) set = set | A::kFeedForwardInput;
  Follow(kFeedForwardEdges, set);
  return set;
}

}  // namespace sextant
