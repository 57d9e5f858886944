#include "engine/model/flops/model_flops_context.h"

namespace sextant {

LayerGroup LayerGroupOf(const ModelFlopsContext& context, ModelPart part, int kind,
                        absl::Span<const WeightTensor> tensors) {
  const LayerSpec& layer = context.spec.layer_kinds[static_cast<size_t>(kind)];
  const bool encoder = part == ModelPart::kEncoder && HasTwoStacks(context.spec);
  LayerGroup group = {.layer = layer,
                      .tensors = tensors,
                      .tokens = encoder ? context.shares.encoder_tokens() : 1,
                      .encoder_tokens = context.shares.encoder_tokens(),
                      .cross_pairs = context.shares.cross_pairs(),
                      .recompute = context.step.recompute,
                      .expert_capacity = context.step.expert_capacity_factor.value_or(1)};
  if (layer.attention.has_value()) {
    group.attended = context.shares.Attended(*layer.attention, encoder);
  }
  return group;
}

bool Trains(absl::Span<const WeightTensor> tensors, absl::string_view module,
            absl::string_view name) {
  for (const WeightTensor& tensor : tensors) {
    if (tensor.module == module && tensor.name == name && IsTrained(tensor, false)) return true;
  }
  return false;
}

absl::Span<const WeightTensor> TakeGroup(ModelPart part, bool layers,
                                         absl::Span<const WeightTensor>& rest) {
  size_t size = 0;
  while (size < rest.size() && rest[size].part == part && (rest[size].layer_kind >= 0) == layers &&
         rest[size].layer_kind == rest[0].layer_kind) {
    ++size;
  }
  const absl::Span<const WeightTensor> group = rest.first(size);
  rest.remove_prefix(size);
  return group;
}

void AddMatrix(const WeightTensor& tensor, FlopsComponent component, const MatrixUse& use,
               FlopsTally& tally) {
  const bool adapter = tensor.component == WeightComponent::kAdapter;
  // What an adapter's second matrix reads is made by its first, which is trained.
  const bool inner = tensor.role == WeightRole::kAdapterUp;
  tally.Add(adapter ? FlopsComponent::kAdapter : component,
            PassesOf({.forward = ProductOf(tensor) * use.uses,
                      .input_needs_gradient = inner || use.input_needs_gradient,
                      .trained = IsTrained(tensor, false)}));
}

void AddLookup(const WeightTensor& tensor, double uses, FlopsTally& tally) {
  if (tensor.role != WeightRole::kAdapterDown) return;
  AddMatrix(tensor, FlopsComponent::kAdapter, {.uses = uses, .input_needs_gradient = true}, tally);
}

}  // namespace sextant
