#include "engine/model/flops/step_flops.h"

#include <utility>

namespace sextant {

absl::string_view FlopsComponentName(FlopsComponent component) {
  constexpr absl::string_view kNames[] = {
      "embedding_projection",
      "attention_query_key_value",
      "attention_latent",
      "attention_scores",
      "attention_values",
      "attention_output",
      "mixer",
      "mixer_core",
      "router",
      "routed_experts",
      "shared_experts",
      "feed_forward",
      "multi_token_projection",
      "pooler",
      "output_transform",
      "output_head",
      "adapter",
  };
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kFlopsComponentCount);
  return kNames[static_cast<size_t>(component)];
}

PassFlops PassesOf(const Product& product) {
  const Flops once(product.forward);
  PassFlops out = {.forward = once,
                   .input_gradient = product.input_needs_gradient ? once : Flops(0),
                   .weight_gradient = product.trained ? once : Flops(0),
                   .recompute = product.recomputed ? once : Flops(0)};
  out.capacity = (out.Model() + out.recompute) * (product.capacity - 1);
  return out;
}

void FlopsTally::GoTo(ModelPart part, int layer_kind) {
  if (by_component_ && (part != part_ || layer_kind != layer_kind_)) Flush();
  part_ = part;
  layer_kind_ = layer_kind;
}

void FlopsTally::Add(FlopsComponent component, const PassFlops& flops) {
  unmasked_ = unmasked_ + flops;
  if (!by_component_) return;
  for (PassFlops& cell : cells_[static_cast<size_t>(component)]) cell = cell + flops;
}

void FlopsTally::Add(FlopsComponent component, const ByMask<PassFlops>& flops) {
  for (size_t i = 0; i < flops.size(); ++i) {
    masked_[i] = masked_[i] + flops[i];
    if (!by_component_) continue;
    PassFlops& cell = cells_[static_cast<size_t>(component)][i];
    cell = cell + flops[i];
  }
}

void FlopsTally::Flush() {
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i][0].forward == Flops(0)) continue;
    components_.push_back({.component = static_cast<FlopsComponent>(i),
                           .part = part_,
                           .layer_kind = layer_kind_,
                           .per_token = cells_[i]});
  }
  cells_ = {};
}

StepFlops FlopsTally::Take(int64_t tokens) {
  if (by_component_) Flush();
  StepFlops out = {.tokens = tokens, .components = std::move(components_)};
  for (size_t i = 0; i < masked_.size(); ++i) out.per_token[i] = unmasked_ + masked_[i];
  return out;
}

}  // namespace sextant
