#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

absl::string_view WeightComponentName(WeightComponent component) {
  constexpr absl::string_view kNames[] = {
      "token_embedding",
      "position_embedding",
      "token_type_embedding",
      "embedding_projection",
      "attention_query_key_value",
      "attention_latent",
      "attention_output",
      "attention_sinks",
      "mixer",
      "router",
      "routed_experts",
      "shared_experts",
      "feed_forward",
      "bias",
      "norm",
      "multi_token_projection",
      "pooler",
      "output_transform",
      "output_head",
      "adapter",
  };
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kWeightComponentCount);
  return kNames[static_cast<size_t>(component)];
}

absl::optional<WeightComponent> FindWeightComponent(absl::string_view name) {
  for (int i = 0; i < kWeightComponentCount; ++i) {
    const auto component = static_cast<WeightComponent>(i);
    if (WeightComponentName(component) == name) return component;
  }
  return absl::nullopt;
}

bool IsEmbedding(WeightComponent component) {
  return component == WeightComponent::kTokenEmbedding ||
         component == WeightComponent::kPositionEmbedding ||
         component == WeightComponent::kTokenTypeEmbedding ||
         component == WeightComponent::kEmbeddingProjection ||
         component == WeightComponent::kOutputHead;
}

absl::string_view ModelPartName(ModelPart part) {
  constexpr absl::string_view kNames[] = {"input", "encoder", "decoder", "output",
                                          "multi_token_prediction"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kModelPartCount);
  return kNames[static_cast<size_t>(part)];
}

}  // namespace sextant
