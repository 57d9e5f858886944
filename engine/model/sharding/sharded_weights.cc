#include "engine/model/sharding/sharded_weights.h"

#include <utility>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {
namespace {

void AddTo(ShardCount& sum, const ShardCount& count) {
  sum.total += count.total;
  sum.trainable += count.trainable;
}

}  // namespace

absl::StatusOr<ShardedWeights> ShardedWeights::Of(const ArchitectureSpec& spec,
                                                  absl::string_view model_path,
                                                  const ParallelLayout& layout,
                                                  absl::string_view layout_path) {
  SEXTANT_ASSIGN_OR_RETURN(auto model, CheckedModel::Of(spec, model_path));
  return Of(std::move(model), layout, layout_path);
}

absl::StatusOr<ShardedWeights> ShardedWeights::Of(std::shared_ptr<const CheckedModel> model,
                                                  const ParallelLayout& layout,
                                                  absl::string_view layout_path) {
  FieldViolations violations;
  CheckLayout(model->spec(), layout, layout_path, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  auto shards = std::make_shared<const ModelShards>(*model, layout);
  auto placement = std::make_shared<const LayerPlacement>(model->spec(), layout);
  return ShardedWeights(std::move(model), std::move(shards), std::move(placement));
}

ShardedWeights::ShardedWeights(std::shared_ptr<const CheckedModel> model,
                               const ParallelLayout& layout, LayoutCache& cache)
    : ShardedWeights(model, cache.ShardsOf(*model, layout), cache.PlacementOf(*model, layout)) {}

ShardedWeights::ShardedWeights(std::shared_ptr<const CheckedModel> model,
                               std::shared_ptr<const ModelShards> shards,
                               std::shared_ptr<const LayerPlacement> placement)
    : model_(std::move(model)),
      shards_(std::move(shards)),
      placement_(std::move(placement)),
      tied_(model_->spec().output.head == OutputHeadKind::kTied),
      predicts_further_(model_->spec().multi_token_prediction.has_value()),
      has_relative_positions_(model_->spec().encoder.relative_position_bucket_count > 0 ||
                              model_->spec().decoder.relative_position_bucket_count > 0),
      lowest_stage_{placement_->LowestStageOf(ModelPart::kEncoder),
                    placement_->LowestStageOf(ModelPart::kDecoder)} {}

// True where `stage` has a tensor of a stack outside its layers. Every layer reads the table of
// relative positions, so every stage with layers has it.
bool ShardedWeights::EndIsOn(int64_t stage, const WeightTensor& t) const {
  const bool decoder = t.part == ModelPart::kDecoder;
  if (t.module == "relative_position_bias") return placement_->HasLayersOf(stage, t.part);
  if (t.name == "final") {
    return stage == (decoder ? last_stage() : placement_->encoder_last_stage());
  }
  if (stage == (decoder ? placement_->decoder_first_stage() : 0)) return true;
  return decoder && predicts_further_ && t.module == "position_embedding" && stage == last_stage();
}

// Embeddings are on the first stage of each stack, and again on the last stage where multi-token
// prediction modules embed tokens or a tied head needs the matrix. Source: docs/memory.md,
// "Sharding".
bool ShardedWeights::IsOn(int64_t stage, const WeightTensor& t) const {
  if (IsOfStack(t)) return EndIsOn(stage, t);
  if (t.part != ModelPart::kInput) return stage == last_stage();
  if (stage == 0 || stage == placement_->decoder_first_stage()) return true;
  return stage == last_stage() && (predicts_further_ || (tied_ && t.module == "token_embedding"));
}

int64_t ShardedWeights::FirstHolder(const WeightTensor& t) const {
  if (t.layer_kind >= 0) return -1;
  const bool decoder = t.part == ModelPart::kDecoder;
  if (t.part == ModelPart::kInput) return 0;
  if (t.module == "relative_position_bias") return lowest_stage_[decoder ? 1 : 0];
  if (t.module == "position_embedding") return decoder ? placement_->decoder_first_stage() : 0;
  return -1;  // nothing else has copies
}

KindLayers ShardedWeights::EndLayersOn(int64_t stage, const WeightTensor& t) const {
  if (!IsOn(stage, t)) return {};
  return {.count = t.layers, .not_frozen = t.trainable_layers};
}

// No overflow: a stage has each tensor of the model at most once.
StageWeights ShardedWeights::GroupsOn(int64_t stage) const {
  StageWeights out;
  ForEachRun(stage, [&](const TensorRun& run, auto, const KindLayers& layers) {
    const ShardCount count = {.total = run.elements * layers.count,
                              .trainable = run.elements * layers.not_frozen};
    AddTo(out.all, count);
    AddTo(out.by_group[static_cast<size_t>(run.group)], count);
    const int64_t first =
        FirstHolder(model_->tensors()[run.first]);  // what has copies is a run of its own
    if (first >= 0 && first != stage) out.repeated += count.total;
  });
  out.layer_count = placement_->LayersOn(stage);
  return out;
}

StageWeights ShardedWeights::Stage(int64_t stage) const {
  StageWeights out = GroupsOn(stage);
  ForEachTensor(stage, [&](const WeightTensor& t, const TensorShard& s, const KindLayers& layers) {
    const int64_t size = s.elements();
    AddTo(out.by_component[static_cast<size_t>(s.group)][static_cast<size_t>(t.component)],
          {.total = size * layers.count, .trainable = size * layers.not_frozen});
  });
  return out;
}

ShardCount ShardedWeights::CountOn(int64_t stage) const {
  ShardCount out;
  ForEachRun(stage, [&out](const TensorRun& run, auto, const KindLayers& layers) {
    out.total += run.elements * layers.count;
    out.trainable += run.elements * layers.not_frozen;
  });
  return out;
}

}  // namespace sextant
