#include "engine/model/architecture/layer_weights.h"

#include "engine/model/architecture/attention_weights.h"

namespace sextant {
namespace {

using Component = WeightComponent;

// Which feed-forward of a layer, and how many of it.
struct FeedForwardPlace {
  absl::string_view module;
  Component component;
  int64_t hidden_size;
  int64_t copies = 1;
  int64_t active_copies = 1;
};

void AddFeedForward(const FeedForwardSpec& spec, const FeedForwardPlace& place, WeightList& out) {
  LinearWeights into = {.module = place.module,
                        .name = "gate",
                        .component = place.component,
                        .rows = spec.size,
                        .columns = place.hidden_size,
                        .bias = spec.input_bias,
                        .copies = place.copies,
                        .active_copies = place.active_copies};
  if (spec.kind == FeedForwardKind::kGated) out.Add(into);
  into.name = "up";
  out.Add(into);
  out.Add(LinearWeights{.module = place.module,
                        .name = "down",
                        .component = place.component,
                        .rows = place.hidden_size,
                        .columns = spec.size,
                        .bias = spec.output_bias,
                        .copies = place.copies,
                        .active_copies = place.active_copies});
}

void AddExperts(const ExpertsSpec& experts, int64_t hidden_size, WeightList& out) {
  out.Add(LinearWeights{.module = "router",
                        .name = "",
                        .component = Component::kRouter,
                        .rows = experts.expert_count,
                        .columns = hidden_size,
                        .bias = experts.router_bias});
  if (experts.router_correction_bias) {
    out.Add(LinearWeights{.module = "router",
                          .name = "correction",
                          .component = Component::kBias,
                          .rows = experts.expert_count,
                          .columns = 1,
                          .learned = false});
  }
  AddFeedForward(experts.expert,
                 {.module = "experts",
                  .component = Component::kRoutedExperts,
                  .hidden_size = hidden_size,
                  .copies = experts.expert_count,
                  .active_copies = experts.experts_per_token},
                 out);
  if (experts.shared_expert_count == 0) return;
  AddFeedForward(experts.shared_expert,
                 {.module = "shared_experts",
                  .component = Component::kSharedExperts,
                  .hidden_size = hidden_size,
                  .copies = experts.shared_expert_count,
                  .active_copies = experts.shared_expert_count},
                 out);
  if (experts.shared_expert_gate) {
    out.Add(LinearWeights{.module = "shared_experts",
                          .name = "token_gate",
                          .component = Component::kSharedExperts,
                          .rows = 1,
                          .columns = hidden_size});
  }
}

void AddNorms(const LayerSpec& layer, int64_t hidden_size, WeightList& out) {
  const struct {
    bool present;
    absl::string_view name;
  } norms[] = {
      {layer.norms.before_attention, "before_attention"},
      {layer.norms.after_attention, "after_attention"},
      {layer.norms.before_cross_attention, "before_cross_attention"},
      {layer.norms.after_cross_attention, "after_cross_attention"},
      {layer.norms.before_feed_forward, "before_feed_forward"},
      {layer.norms.after_feed_forward, "after_feed_forward"},
  };
  for (const auto& norm : norms) {
    if (!norm.present) continue;
    out.Add(NormWeights{
        .module = "norm", .name = norm.name, .variant = layer.norm, .length = hidden_size});
  }
}

}  // namespace

void AddLayerWeights(const LayerSpec& layer, int64_t hidden_size, WeightList& out) {
  if (layer.attention.has_value()) {
    AddAttentionWeights(*layer.attention,
                        {.module = "attention", .hidden_size = hidden_size, .norm = layer.norm},
                        out);
  }
  if (layer.cross_attention.has_value()) {
    AddAttentionWeights(
        *layer.cross_attention,
        {.module = "cross_attention", .hidden_size = hidden_size, .norm = layer.norm}, out);
  }
  if (layer.feed_forward.has_value()) {
    AddFeedForward(*layer.feed_forward,
                   {.module = "feed_forward",
                    .component = Component::kDenseFeedForward,
                    .hidden_size = hidden_size},
                   out);
  }
  if (layer.experts.has_value()) AddExperts(*layer.experts, hidden_size, out);
  AddNorms(layer, hidden_size, out);
}

}  // namespace sextant
