#include "server/convert/parameter_counts.h"

#include <string>

namespace sextant {

void ParameterCountsTo(const ArchitectureCount& count, v1::ParameterCounts* out) {
  out->set_total(count.all.total);
  out->set_embedding(count.embedding);
  out->set_non_embedding(count.non_embedding());
  out->set_active(count.all.active);
  out->set_trainable(count.all.trainable);
  out->set_padding(count.padding);
  if (const int64_t ahead = count.of(ModelPart::kMultiTokenPrediction).total; ahead > 0) {
    out->set_multi_token_prediction(ahead);
  }
  for (int i = 0; i < kWeightComponentCount; ++i) {
    const auto component = static_cast<WeightComponent>(i);
    const WeightCount& of = count.of(component);
    if (of.total == 0) continue;
    auto* part = out->add_components();
    part->set_name(std::string(WeightComponentName(component)));
    part->set_parameter_count(of.total);
    part->set_embedding(IsEmbedding(component));
    part->set_active_parameter_count(of.active);
    part->set_trainable_parameter_count(of.trainable);
  }
}

}  // namespace sextant
