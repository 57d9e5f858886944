#include "engine/model/sharding/sharded_weights.h"

#include <utility>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {
namespace {

bool IsOfStack(const WeightTensor& tensor) {
  return tensor.part == ModelPart::kEncoder || tensor.part == ModelPart::kDecoder;
}

void AddTo(ShardCount& sum, const ShardCount& count) {
  sum.total += count.total;
  sum.trainable += count.trainable;
}

}  // namespace

absl::StatusOr<ShardedWeights> ShardedWeights::Of(const ArchitectureSpec& spec,
                                                  absl::string_view model_path,
                                                  const ParallelLayout& layout,
                                                  absl::string_view layout_path) {
  FieldViolations violations;
  CheckArchitecture(spec, model_path, violations);
  if (violations.empty()) CheckLayout(spec, layout, layout_path, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  WeightTensors tensors = WeightsOf(spec);
  SEXTANT_ASSIGN_OR_RETURN(ArchitectureCount whole_model, CountWeights(tensors, model_path));
  return ShardedWeights(spec, layout, std::move(tensors), std::move(whole_model));
}

ShardedWeights::ShardedWeights(const ArchitectureSpec& spec, const ParallelLayout& layout,
                               WeightTensors tensors, ArchitectureCount whole_model)
    : placement_(spec, layout),
      whole_model_(std::move(whole_model)),
      tensors_(std::move(tensors)),
      tied_(spec.output.head == OutputHeadKind::kTied),
      predicts_further_(spec.multi_token_prediction.has_value()),
      lowest_stage_{placement_.LowestStageOf(ModelPart::kEncoder),
                    placement_.LowestStageOf(ModelPart::kDecoder)} {
  shards_.reserve(tensors_.size());
  elements_.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    shards_.push_back(ShardOf(spec, tensors_[i], layout));
    elements_.push_back(shards_[i].elements());
    AddToRuns(i);
  }
}

bool ShardedWeights::StandTogether(const WeightTensor& a, const WeightTensor& b) {
  return IsOfStack(a) && a.layer_kind >= 0 && a.part == b.part && a.layer_kind == b.layer_kind &&
         (a.trainable_layers == 0) == (b.trainable_layers == 0) && IsAdapter(a) == IsAdapter(b);
}

void ShardedWeights::AddToRuns(size_t tensor) {
  const ShardGroup group = shards_[tensor].group;
  const bool goes_on = !runs_.empty() && runs_.back().group == group &&
                       StandTogether(tensors_[tensor - 1], tensors_[tensor]);
  if (!goes_on) runs_.push_back({.first = tensor, .end = tensor, .group = group, .elements = 0});
  runs_.back().end = tensor + 1;
  runs_.back().elements += elements_[tensor];
}

// True where `stage` has a tensor of a stack outside its layers. Every layer reads the table of
// relative positions, so every stage with layers has it.
bool ShardedWeights::EndIsOn(int64_t stage, const WeightTensor& t) const {
  const bool decoder = t.part == ModelPart::kDecoder;
  if (t.module == "relative_position_bias") return placement_.HasLayersOf(stage, t.part);
  if (t.name == "final") {
    return stage == (decoder ? last_stage() : placement_.encoder_last_stage());
  }
  if (stage == (decoder ? placement_.decoder_first_stage() : 0)) return true;
  return decoder && predicts_further_ && t.module == "position_embedding" && stage == last_stage();
}

// Embeddings are on the first stage of each stack, and again on the last stage where multi-token
// prediction modules embed tokens or a tied head needs the matrix. Source: docs/sharding.md.
bool ShardedWeights::IsOn(int64_t stage, const WeightTensor& t) const {
  if (IsOfStack(t)) return EndIsOn(stage, t);
  if (t.part != ModelPart::kInput) return stage == last_stage();
  if (stage == 0 || stage == placement_.decoder_first_stage()) return true;
  return stage == last_stage() && (predicts_further_ || (tied_ && t.module == "token_embedding"));
}

int64_t ShardedWeights::FirstHolder(const WeightTensor& t) const {
  if (t.layer_kind >= 0) return -1;
  const bool decoder = t.part == ModelPart::kDecoder;
  if (t.part == ModelPart::kInput) return 0;
  if (t.module == "relative_position_bias") return lowest_stage_[decoder ? 1 : 0];
  if (t.module == "position_embedding") return decoder ? placement_.decoder_first_stage() : 0;
  return -1;  // nothing else has copies
}

KindLayers ShardedWeights::EndLayersOn(int64_t stage, const WeightTensor& t) const {
  if (!IsOn(stage, t)) return {};
  return {.count = t.layers, .not_frozen = t.trainable_layers};
}

std::vector<StageTensor> ShardedWeights::TensorsOf(int64_t stage) const {
  std::vector<StageTensor> out;
  ForEachTensor(stage, [&](const WeightTensor& t, const TensorShard& s, const KindLayers& layers) {
    const int64_t first = FirstHolder(t);
    out.push_back({.tensor = t,
                   .shard = s,
                   .layers = layers.count,
                   .trainable_layers = layers.not_frozen,
                   .repeated = first >= 0 && first != stage});
  });
  return out;
}

// No overflow: a stage has each tensor of the model at most once.
StageWeights ShardedWeights::Stage(int64_t stage) const {
  StageWeights out;
  ForEachTensor(stage, [&](const WeightTensor& t, const TensorShard& s, const KindLayers& layers) {
    const int64_t size = s.elements();
    const auto group = static_cast<size_t>(s.group);
    const ShardCount count = {.total = size * layers.count, .trainable = size * layers.not_frozen};
    AddTo(out.all, count);
    AddTo(out.by_group[group], count);
    AddTo(out.by_component[group][static_cast<size_t>(t.component)], count);
    const int64_t first = FirstHolder(t);
    if (first >= 0 && first != stage) out.repeated += count.total;
  });
  out.layer_count = placement_.LayersOn(stage);
  return out;
}

int64_t ShardedWeights::LargestStage() const {
  int64_t largest = 0;
  int64_t most = -1;
  for (int64_t stage = 0; stage < stage_count(); ++stage) {
    const int64_t here = Stage(stage).all.total;
    if (here > most) largest = stage;
    if (here > most) most = here;
  }
  return largest;
}

CheckedInt ShardedWeights::HeldByJob(int64_t gpus_per_stage) const {
  CheckedInt held = 0;
  for (int64_t stage = 0; stage < stage_count(); ++stage) held = held + Stage(stage).all.total;
  return held * gpus_per_stage;
}

}  // namespace sextant
