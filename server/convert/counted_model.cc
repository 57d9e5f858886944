#include "server/convert/counted_model.h"

#include <string>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "server/convert/architecture.h"
#include "server/convert/enums.h"

namespace sextant::server {
namespace {

using MaskConventionPair = OneLater<MaskConvention::kCausalDiagonal, v1::MaskConvention_MAX>;

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
  out->set_mask(MaskConventionPair::To(mask));
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
  out->set_convention(FlopsConventionPair::To(flops.convention));
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

void LayerKindTo(const ArchitectureSpec& spec, const LayerKindCount& kind,
                 v1::LayerKindCount* out) {
  out->set_part(std::string(ModelPartName(kind.part)));
  out->set_layer_kind(spec.layer_kinds[static_cast<size_t>(kind.layer_kind)].name);
  out->set_layer_count(kind.layers);
  out->set_parameters_per_layer(kind.total_per_layer);
  out->set_active_parameters_per_layer(kind.active_per_layer);
  out->set_parameter_count(kind.all_layers.total);
}

void TensorTo(const ArchitectureSpec& spec, const WeightTensor& tensor, v1::ModelTensor* out) {
  out->set_name(WeightNameOf(spec, tensor));
  out->set_component(std::string(WeightComponentName(tensor.component)));
  out->add_shape(tensor.rows);
  if (!tensor.is_vector()) out->add_shape(tensor.columns);
  out->set_copies(tensor.copies);
  out->set_active_copies(tensor.active_copies);
  out->set_layer_count(tensor.layers);
  out->set_trainable_layer_count(tensor.trainable_layers);
  out->set_parameter_count(tensor.rows * tensor.columns * tensor.copies * tensor.layers);
}

void StageComponentsTo(const StageWeights& stage, v1::StageParameters* out) {
  for (int i = 0; i < kWeightComponentCount; ++i) {
    const auto component = static_cast<WeightComponent>(i);
    const int64_t count = stage.of(ShardGroup::kDense, component).total +
                          stage.of(ShardGroup::kExpert, component).total;
    if (count == 0) continue;
    auto* wire = out->add_components();
    wire->set_name(std::string(WeightComponentName(component)));
    wire->set_parameter_count(count);
  }
}

void StageTo(int64_t number, const StageWeights& stage, bool components, v1::StageParameters* out) {
  out->set_stage(number);
  out->set_layer_count(stage.layer_count);
  out->set_parameter_count(stage.all.total);
  out->set_trainable_parameter_count(stage.all.trainable);
  out->set_expert_parameter_count(stage.of(ShardGroup::kExpert).total);
  out->set_repeated_parameter_count(stage.repeated);
  if (components) StageComponentsTo(stage, out);
}

void TotalTo(const PublishedTotal& total, v1::PublishedTotal* out) {
  out->set_name(std::string(total.name));
  out->set_definition(std::string(total.definition));
  out->set_example(std::string(total.example));
  out->set_parameter_count(total.parameter_count);
}

// `counted` has FLOPs. Writes each component's FLOPs where `components`.
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

// The parts of a config.json that were not counted.
void ConfigTo(const HuggingFaceModel& config, v1::CountModelResponse* out) {
  out->set_text_model_field(std::string(config.wrapper));
  if (config.vision_parameters.has_value()) {
    out->set_vision_parameter_count(*config.vision_parameters);
  }
  for (const std::string& field : config.ignored_fields) out->add_ignored_config_fields(field);
  for (const std::string& field : config.unread_fields) out->add_unread_config_fields(field);
}

}  // namespace

void ParameterCountsTo(const ArchitectureCount& count, bool components, v1::ParameterCounts* out) {
  out->set_total(count.all.total);
  out->set_embedding(count.embedding);
  out->set_non_embedding(count.non_embedding());
  out->set_active(count.all.active);
  out->set_trainable(count.all.trainable);
  out->set_padding(count.padding);
  if (const int64_t ahead = count.of(ModelPart::kMultiTokenPrediction).total; ahead > 0) {
    out->set_multi_token_prediction(ahead);
  }
  for (int i = 0; components && i < kWeightComponentCount; ++i) {
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

void CountedModelTo(const CountedModel& counted, const CountSpec& spec,
                    const v1::CountModelRequest& request, v1::CountModelResponse* out) {
  const ArchitectureSpec& architecture = *counted.model.architecture;
  out->set_model_name(std::string(counted.model.name));
  const CheckedModel& model = *counted.model.checked;
  ParameterCountsTo(model.count(), /*components=*/true, out->mutable_parameters());
  for (const LayerKindCount& kind : model.count().by_layer_kind) {
    LayerKindTo(architecture, kind, out->add_layer_kinds());
  }
  if (counted.flops.has_value()) {
    ModelFlopsTo(counted, request.include_components(), out->mutable_flops());
  }
  if (counted.shards.has_value()) {
    for (int64_t stage = 0; stage < counted.shards->stage_count(); ++stage) {
      StageTo(stage, counted.shards->Stage(stage), request.include_components(), out->add_stages());
    }
  }
  if (request.include_tensors()) {
    for (const WeightTensor& tensor : model.tensors()) {
      TensorTo(architecture, tensor, out->add_tensors());
    }
  }
  if (request.include_architecture()) ArchitectureTo(architecture, out->mutable_architecture());
  if (request.include_totals()) {
    for (const PublishedTotal& total : PublishedTotalsOf(architecture, model.count())) {
      TotalTo(total, out->add_totals());
    }
  }
  if (spec.model.hugging_face_config.has_value()) {
    ConfigTo(*spec.model.hugging_face_config, out);
  }
}

}  // namespace sextant::server
