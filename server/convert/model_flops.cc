#include "server/convert/model_flops.h"

#include <string>

#include "server/convert/enums.h"

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

void ConventionTo(const ConventionFlops& flops, v1::ModelFlops::Convention* out) {
  const ConventionFacts& facts = FactsOf(flops.convention);
  out->set_convention(FlopsConventionTo(flops.convention));
  out->set_name(std::string(facts.name));
  out->set_definition(std::string(facts.definition));
  out->set_source(std::string(facts.source));
  out->set_hardware(facts.kind == FlopsKind::kHardware);
  out->set_why_not(flops.not_applicable);
  if (!flops.not_applicable.empty()) return;
  out->set_flops_per_token(flops.per_token.value());
  out->set_flops(flops.per_step.value());
  out->set_ratio_to_exact(flops.ratio_to_exact);
  for (const TermDifference& difference : flops.differences) {
    auto* wire = out->add_differences();
    wire->set_name(std::string(FlopsTermName(difference.term)));
    wire->set_flops_per_token(difference.per_token.value());
  }
}

void KaplanRowTo(const KaplanRow& row, v1::ModelFlops::KaplanRow* out) {
  out->set_name(std::string(row.operation));
  out->set_formula(std::string(row.formula));
  out->set_flops_per_token(row.per_token.value());
  out->set_exact_flops_per_token(row.exact.value());
  out->set_difference(std::string(row.difference));
}

}  // namespace

void ModelFlopsTo(const CountedModel& counted, bool components, v1::ModelFlops* out) {
  const StepFlops& flops = *counted.flops;
  out->set_token_count(flops.tokens);
  for (int i = 0; i < kMaskConventionCount; ++i) {
    MaskedTo(flops, static_cast<MaskConvention>(i), out->add_masks());
  }
  if (components) {
    for (const ComponentFlops& component : flops.components) {
      ComponentTo(*counted.model.architecture, component, out->add_components());
    }
  }
  for (const ConventionFlops& convention : counted.conventions) {
    ConventionTo(convention, out->add_conventions());
  }
  for (const KaplanRow& row : counted.kaplan_table) KaplanRowTo(row, out->add_kaplan_table());
}

}  // namespace sextant
