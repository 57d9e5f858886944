#include "engine/model/flops/saved_products.h"

#include <algorithm>

namespace sextant {

SavedProducts::SavedProducts(const LayerSpec& layer) {
  if (layer.attention.has_value()) AddAttention(*layer.attention);
  if (layer.feed_forward.has_value()) AddFeedForward("feed_forward", *layer.feed_forward);
  if (layer.experts.has_value() && layer.experts->shared_expert_count > 0) {
    AddFeedForward("shared_experts", layer.experts->shared_expert);
  }
}

bool SavedProducts::Has(absl::string_view module, absl::string_view name) const {
  return std::any_of(saved_.begin(), saved_.begin() + saved_count_, [&](const Product& product) {
    return product.name == name && product.module == module;
  });
}

void SavedProducts::AddAttention(const AttentionSpec& attention) {
  constexpr absl::string_view kModule = "attention";
  if (attention.latent.has_value()) {
    const LatentSpec& latent = *attention.latent;
    if (latent.query_rank > 0) {
      Count({kModule, "query_down"}, latent.down_bias);
      Count({kModule, "query_up"}, false);
    } else {
      Count({kModule, "query"}, attention.query_bias);
    }
    Count({kModule, "key_value_down"}, latent.down_bias);
    Count({kModule, "key_value_up"}, false);
  } else {
    Count({kModule, "query"}, attention.query_bias);
    Count({kModule, "key"}, attention.key_bias);
    if (!attention.values_are_keys) Count({kModule, "value"}, attention.value_bias);
  }
  Count({kModule, "output"}, attention.output_bias);
}

void SavedProducts::AddFeedForward(absl::string_view module, const FeedForwardSpec& feed_forward) {
  if (feed_forward.kind == FeedForwardKind::kGated) {
    Count({module, "gate"}, feed_forward.input_bias);
  }
  Count({module, "up"}, feed_forward.input_bias);
  Count({module, "down"}, feed_forward.output_bias);
}

void SavedProducts::Count(const Product& product, bool has_bias) {
  if (has_bias) return;
  if (saves_next_) saved_[saved_count_++] = product;
  saves_next_ = !saves_next_;
}

absl::string_view PartOfUnknownOperators(const ArchitectureSpec& spec) {
  if (spec.adapters.has_value()) return "adapters";
  for (const LayerSpec& layer : spec.layer_kinds) {
    if (layer.mixer.has_value()) return "mixers";
    if (layer.cross_attention.has_value()) return "cross attention";
    if (layer.experts.has_value() && layer.experts->latent_size > 0) return "experts of a latent";
    if (layer.experts.has_value() && layer.experts->shared_expert_gate) return "a token gate";
    if (!layer.attention.has_value()) continue;
    const AttentionSpec& attention = *layer.attention;
    if (attention.output_gate != OutputGate::kNone) return "an output gate";
    if (attention.latent.has_value() && attention.latent->indexer.has_value()) return "an indexer";
  }
  return {};
}

}  // namespace sextant
