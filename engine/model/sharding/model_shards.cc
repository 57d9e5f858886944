#include "engine/model/sharding/model_shards.h"

#include <algorithm>

#include "engine/base/field_violation.h"

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

}  // namespace sextant
