#include "server/convert/model_flops.h"

#include <string>

namespace sextant {
namespace {

static_assert(static_cast<int>(MaskConvention::kCausalDiagonal) + 1 ==
              v1::MASK_CONVENTION_CAUSAL_DIAGONAL);

void PassesTo(const PassFlops& passes, v1::PassFlops* out) {
  out->set_forward(passes.forward.value());
  out->set_input_gradient(passes.input_gradient.value());
  out->set_weight_gradient(passes.weight_gradient.value());
  out->set_recompute(passes.recompute.value());
  out->set_flash_recompute(passes.flash_recompute.value());
  out->set_capacity(passes.capacity.value());
}

void MaskedTo(const StepFlops& flops, MaskConvention mask, v1::ModelFlops::Masked* out) {
  const PassFlops& token = flops.PerToken(mask);
  const PassFlops step = flops.PerStep(mask);
  out->set_mask(static_cast<v1::MaskConvention>(static_cast<int>(mask) + 1));
  PassesTo(token, out->mutable_passes());
  out->set_model_flops_per_token(token.Model().value());
  out->set_hardware_flops_per_token(token.HardwareWithoutFlashRecompute().value());
  out->set_hardware_flops_per_token_with_flash_recompute(
      token.HardwareWithFlashRecompute().value());
  out->set_model_flops(step.Model().value());
  out->set_hardware_flops(step.HardwareWithoutFlashRecompute().value());
}

bool Same(const PassFlops& a, const PassFlops& b) {
  return a.HardwareWithFlashRecompute() == b.HardwareWithFlashRecompute() && a.forward == b.forward;
}

void ComponentTo(const ArchitectureSpec& architecture, const ComponentFlops& component,
                 v1::ModelFlops::Component* out) {
  out->set_name(std::string(FlopsComponentName(component.component)));
  out->set_part(std::string(ModelPartName(component.part)));
  if (component.layer_kind >= 0) {
    out->set_layer_kind(architecture.layer_kinds[static_cast<size_t>(component.layer_kind)].name);
  }
  const auto& by_mask = component.per_token;
  const bool masked = !Same(by_mask[0], by_mask[1]) || !Same(by_mask[0], by_mask[2]);
  for (int i = 0; i < (masked ? kMaskConventionCount : 1); ++i) {
    PassesTo(by_mask[static_cast<size_t>(i)], out->add_passes());
  }
}

}  // namespace

void ModelFlopsTo(const ArchitectureSpec& architecture, const CountedModel& counted,
                  v1::ModelFlops* out) {
  const StepFlops& flops = *counted.flops;
  out->set_token_count(flops.tokens);
  for (int i = 0; i < kMaskConventionCount; ++i) {
    MaskedTo(flops, static_cast<MaskConvention>(i), out->add_masks());
  }
  for (const ComponentFlops& component : flops.components) {
    ComponentTo(architecture, component, out->add_components());
  }
}

}  // namespace sextant
