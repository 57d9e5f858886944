#include "engine/model/sharding/sharded_weights.h"

#include <algorithm>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// Steps of CallWork.
constexpr size_t kStepsACheck = 512;
constexpr size_t kStepsAShard = 4;
constexpr size_t kStepsAPiece = 2;

bool IsInLayers(const WeightTensor& tensor) { return IsOfStack(tensor) && tensor.layer_kind >= 0; }

// True where every stage has both in the same layers.
bool StandTogether(const WeightTensor& a, const WeightTensor& b) {
  return IsInLayers(a) && a.part == b.part && a.layer_kind == b.layer_kind &&
         (a.trainable_layers == 0) == (b.trainable_layers == 0) && IsAdapter(a) == IsAdapter(b);
}

void AddTo(ShardCount& sum, const ShardCount& count) {
  sum.total += count.total;
  sum.trainable += count.trainable;
}

}  // namespace

ModelShards::ModelShards(const CheckedModel& model, const ParallelLayout& layout)
    : kind_count_(model.spec().layer_kinds.size()), runs_of_kinds_(2 * kind_count_) {
  const WeightTensors& tensors = model.tensors();
  shards_.reserve(tensors.size());
  elements_.reserve(tensors.size());
  runs_.reserve(tensors.size());
  ends_.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    shards_.push_back(ShardOf(model.spec(), tensors[i], layout));
    elements_.push_back(shards_[i].elements());
    AddToRuns(tensors, i);
  }
  IndexRuns(tensors);
}

void ModelShards::AddToRuns(const WeightTensors& tensors, size_t tensor) {
  const ShardGroup group = shards_[tensor].group;
  const bool goes_on = !runs_.empty() && runs_.back().group == group &&
                       StandTogether(tensors[tensor - 1], tensors[tensor]);
  if (!goes_on) runs_.push_back({.first = tensor, .end = tensor, .group = group, .elements = 0});
  runs_.back().end = tensor + 1;
  runs_.back().elements += elements_[tensor];
}

// The runs of one kind of layer in a stack are adjacent.
void ModelShards::IndexRuns(const WeightTensors& tensors) {
  for (size_t i = 0; i < runs_.size(); ++i) {
    const WeightTensor& tensor = tensors[runs_[i].first];
    if (!IsInLayers(tensor)) {
      ends_.push_back(i);
      continue;
    }
    const size_t stack = tensor.part == ModelPart::kEncoder ? 0 : 1;
    Range& range = runs_of_kinds_[stack * kind_count_ + static_cast<size_t>(tensor.layer_kind)];
    if (range.end == 0) range.first = i;
    range.end = i + 1;
  }
}

LayoutCache::Sizes LayoutCache::SizesOf(const ParallelLayout& layout) {
  return {layout.tensor_parallel_size,   layout.split_key_value_heads ? 1 : 0,
          layout.expert_parallel_size,   layout.expert_tensor_parallel_size,
          layout.pipeline_parallel_size, layout.virtual_stage_count};
}

ParallelLayout LayoutCache::Whole(const ParallelLayout& layout) const {
  ParallelLayout out = layout;
  out.layers_per_chunk = layers_per_chunk_;
  return out;
}

bool LayoutCache::IsSound(const CheckedModel& model, const ParallelLayout& layout) {
  const auto [known, is_new] = sound_.emplace(SizesOf(layout), false);
  if (!is_new) return known->second;
  FieldViolations violations;
  CheckLayout(model.spec(), Whole(layout), "layout", violations);
  Spend(kStepsACheck + model.spec().layer_kinds.size() + layers_per_chunk_.size());
  return known->second = violations.empty();
}

std::shared_ptr<const ModelShards> LayoutCache::ShardsOf(const CheckedModel& model,
                                                         const ParallelLayout& layout) {
  const Sizes sizes = SizesOf(layout);
  for (const Sharded& known : sharded_) {
    if (std::equal(sizes.begin(), sizes.begin() + 4, known.sizes.begin())) return known.shards;
  }
  if (sharded_.size() == kMax) sharded_.erase(sharded_.begin());
  Spend(kStepsAShard * model.tensors().size());
  sharded_.push_back({sizes, std::make_shared<const ModelShards>(model, layout)});
  return sharded_.back().shards;
}

std::shared_ptr<const LayerPlacement> LayoutCache::PlacementOf(const CheckedModel& model,
                                                               const ParallelLayout& layout) {
  const Sizes sizes = SizesOf(layout);
  for (const Placed& known : placed_) {
    if (std::equal(sizes.begin() + 4, sizes.end(), known.sizes.begin() + 4)) {
      return known.placement;
    }
  }
  if (placed_.size() == kMax) placed_.erase(placed_.begin());
  placed_.push_back({sizes, std::make_shared<const LayerPlacement>(model.spec(), Whole(layout))});
  const LayerPlacement& made = *placed_.back().placement;
  Spend(kStepsAPiece * static_cast<size_t>(made.piece_count() + ChunkCount(layout)));
  return placed_.back().placement;
}

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
