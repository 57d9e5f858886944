#include "engine/model/flops/step_flops.h"

namespace sextant {

absl::string_view FlopsComponentName(FlopsComponent component) {
  constexpr absl::string_view kNames[] = {
      "embedding_projection",
      "attention_query_key_value",
      "attention_latent",
      "attention_scores",
      "attention_values",
      "attention_output",
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

}  // namespace sextant
