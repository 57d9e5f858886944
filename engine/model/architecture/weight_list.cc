#include "engine/model/architecture/weight_list.h"

namespace sextant {

void WeightList::Add(WeightTensor tensor) {
  tensor.part = place_.part;
  tensor.layer_kind = place_.layer_kind;
  tensor.layers = place_.layers;
  tensor.trainable_layers = place_.trainable_layers;
  tensors_.push_back(tensor);
}

void WeightList::Add(const LinearWeights& linear) {
  WeightTensor tensor = {.module = linear.module,
                         .name = linear.name,
                         .role = WeightRole::kWeight,
                         .component = linear.component,
                         .rows = linear.rows,
                         .columns = linear.columns,
                         .copies = linear.copies,
                         .active_copies = linear.active_copies,
                         .padding_rows = linear.padding_rows};
  Add(tensor);
  if (!linear.learned) tensors_.back().trainable_layers = 0;
  if (!linear.bias) return;
  tensor.role = WeightRole::kBias;
  tensor.component = linear.bias_component;
  tensor.columns = 1;
  Add(tensor);
}

void WeightList::Add(const NormWeights& norm) {
  if (norm.variant == NormVariant::kNonParametricLayerNorm) return;
  WeightTensor tensor = {.module = norm.module,
                         .name = norm.name,
                         .role = WeightRole::kWeight,
                         .component = WeightComponent::kNorm,
                         .rows = norm.length,
                         .columns = 1};
  Add(tensor);
  if (norm.variant != NormVariant::kLayerNorm) return;
  tensor.role = WeightRole::kBias;
  Add(tensor);
}

}  // namespace sextant
