#include "server/convert/counted_model.h"

#include <string>

#include "engine/model/architecture/model_weights.h"
#include "server/convert/model_flops.h"
#include "server/convert/parameter_counts.h"

namespace sextant {
namespace {

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

}  // namespace

void CountedModelTo(const CountedModel& counted, const CountSpec& spec,
                    const v1::CountModelRequest& request, v1::CountModelResponse* out) {
  const ArchitectureSpec& architecture = *counted.model.architecture;
  out->set_model_name(std::string(counted.model.name));
  ParameterCountsTo(counted.parameters, out->mutable_parameters());
  for (const LayerKindCount& kind : counted.parameters.by_layer_kind) {
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
    for (const WeightTensor& tensor : counted.tensors) {
      TensorTo(architecture, tensor, out->add_tensors());
    }
  }
  if (!spec.model.hugging_face_config.has_value()) return;
  for (const std::string& field : spec.model.hugging_face_config->ignored_fields) {
    out->add_ignored_config_fields(field);
  }
}

}  // namespace sextant
