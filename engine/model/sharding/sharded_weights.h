// The exact number of parameters on each GPU of each pipeline stage.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_SHARDED_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_SHARDED_WEIGHTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/model/architecture/checked_model.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/sharding/layer_placement.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/sharding/tensor_shard.h"

namespace sextant {

// Consecutive tensors of one group of ranks that every stage has in the same layers.
struct TensorRun {
  size_t first = 0;
  size_t end = 0;
  ShardGroup group = ShardGroup::kDense;
  int64_t elements = 0;  // of all shards, per layer
};

// A GPU's part of each tensor of a model, which all layouts of equal tensor and expert parallel
// sizes share.
class ModelShards {
 public:
  ModelShards(const CheckedModel& model, const ParallelLayout& layout);

  const TensorShard& of(size_t tensor) const { return shards_[tensor]; }
  absl::Span<const TensorShard> all() const { return shards_; }
  absl::Span<const int64_t> ElementsOf(const TensorRun& run) const {
    return absl::MakeConstSpan(elements_).subspan(run.first, run.end - run.first);
  }
  absl::Span<const TensorRun> runs() const { return runs_; }
  // Indices of the runs that are in no layer of a stack.
  absl::Span<const size_t> ends() const { return ends_; }

  struct Range {
    size_t first = 0;
    size_t end = 0;
  };
  // The runs of the layers of a kind in the encoder or the decoder.
  Range RunsOf(ModelPart part, int layer_kind) const {
    const size_t stack = part == ModelPart::kEncoder ? 0 : 1;
    return runs_of_kinds_[stack * kind_count_ + static_cast<size_t>(layer_kind)];
  }

 private:
  void AddToRuns(const WeightTensors& tensors, size_t tensor);
  void IndexRuns(const WeightTensors& tensors);

  size_t kind_count_;
  std::vector<TensorShard> shards_;  // of the model's tensors
  std::vector<int64_t> elements_;    // of shards_
  std::vector<TensorRun> runs_;      // of the model's tensors
  std::vector<size_t> ends_;
  std::vector<Range> runs_of_kinds_;  // by stack and kind
};

// True for the encoder and the decoder.
inline bool IsOfStack(const WeightTensor& tensor) {
  return tensor.part == ModelPart::kEncoder || tensor.part == ModelPart::kDecoder;
}

inline bool IsAdapter(const WeightTensor& tensor) {
  return tensor.role == WeightRole::kAdapterDown || tensor.role == WeightRole::kAdapterUp;
}

// Shards and placements of one model, for a search that evaluates many layouts of it. Remembers
// which layouts are sound, and keeps the last few shards and placements.
class LayoutCache {
 public:
  // All layouts have `layers_per_chunk` instead of their own: a search copies layouts, and the list
  // may be long. Counts what it computes as `work`, which outlives this.
  LayoutCache(std::vector<int64_t> layers_per_chunk, CallWork& work)
      : layers_per_chunk_(std::move(layers_per_chunk)), work_(work) {}

  // True where CheckLayout() finds no error.
  bool IsSound(const CheckedModel& model, const ParallelLayout& layout);
  // `layout` is sound.
  std::shared_ptr<const ModelShards> ShardsOf(const CheckedModel& model,
                                              const ParallelLayout& layout);
  std::shared_ptr<const LayerPlacement> PlacementOf(const CheckedModel& model,
                                                    const ParallelLayout& layout);

 private:
  // The sizes of a layout; two with equal first four shard every tensor alike.
  using Sizes = std::array<int64_t, 6>;
  static constexpr size_t kMax = 16;  // shards, and placements

  static Sizes SizesOf(const ParallelLayout& layout);
  ParallelLayout Whole(const ParallelLayout& layout) const;
  // Ends no work: the search asks soon enough.
  void Spend(size_t steps) { work_.Spend(static_cast<int64_t>(steps)).IgnoreError(); }

  struct Sharded {
    Sizes sizes = {};
    std::shared_ptr<const ModelShards> shards;
  };
  struct Placed {
    Sizes sizes = {};
    std::shared_ptr<const LayerPlacement> placement;
  };

  const std::vector<int64_t> layers_per_chunk_;
  CallWork& work_;
  absl::flat_hash_map<Sizes, bool> sound_;
  std::vector<Sharded> sharded_;
  std::vector<Placed> placed_;
};

// Parameters on one GPU.
struct ShardCount {
  int64_t total = 0;
  int64_t trainable = 0;

  friend bool operator==(const ShardCount&, const ShardCount&) = default;
};

// The parameters of each GPU of one stage; the GPUs hold equal amounts. Data parallelism shards
// dense parameters over other groups than experts, so the two are separate.
struct StageWeights {
  int64_t layer_count = 0;  // of encoder and decoder
  ShardCount all = {};
  std::array<ShardCount, kShardGroupCount> by_group{};
  std::array<std::array<ShardCount, kWeightComponentCount>, kShardGroupCount> by_component{};
  int64_t repeated = 0;  // of all.total: copies of parameters of another stage

  const ShardCount& of(ShardGroup g) const { return by_group[static_cast<size_t>(g)]; }
  const ShardCount& of(ShardGroup g, WeightComponent c) const {
    return by_component[static_cast<size_t>(g)][static_cast<size_t>(c)];
  }
};

// A model under a layout. Stages are computed on request.
class ShardedWeights {
 public:
  // Errors: kInvalidArgument with all errors that CheckArchitecture() finds under `model_path`,
  // else with all that CheckLayout() finds under `layout_path`; or CountWeights()'s.
  static absl::StatusOr<ShardedWeights> Of(const ArchitectureSpec& spec,
                                           absl::string_view model_path,
                                           const ParallelLayout& layout,
                                           absl::string_view layout_path);
  // The same for a model that was checked before. Errors: those of `layout`.
  static absl::StatusOr<ShardedWeights> Of(std::shared_ptr<const CheckedModel> model,
                                           const ParallelLayout& layout,
                                           absl::string_view layout_path);

  // `layout` is sound in `cache`.
  ShardedWeights(std::shared_ptr<const CheckedModel> model, const ParallelLayout& layout,
                 LayoutCache& cache);

  const CheckedModel& model() const { return *model_; }
  const std::shared_ptr<const CheckedModel>& shared_model() const { return model_; }
  const LayerPlacement& placement() const { return *placement_; }
  int64_t stage_count() const { return placement_->stage_count(); }
  // A GPU's part of each of model().tensors().
  absl::Span<const TensorShard> shards() const { return shards_->all(); }

  StageWeights Stage(int64_t stage) const;
  // The same, without by_component.
  StageWeights GroupsOn(int64_t stage) const;
  // StageWeights::all, in a fraction of the time.
  ShardCount CountOn(int64_t stage) const;

  // Calls visit(const WeightTensor&, const TensorShard&, const KindLayers&) for each tensor on the
  // stage, in the order of the whole model: they add up to Stage(). Allocates nothing. Time is
  // linear in the tensors on the stage.
  template <typename Visit>
  void ForEachTensor(int64_t stage, Visit&& visit) const {
    ForEachRun(stage, [&](const TensorRun& run, auto, const KindLayers& layers) {
      for (size_t i = run.first; i < run.end; ++i) {
        visit(model_->tensors()[i], shards_->of(i), layers);
      }
    });
  }

  // The same in sums: calls visit(const TensorRun&, absl::Span<const int64_t>, const KindLayers&),
  // where the span has the elements of each tensor's shard, per layer.
  template <typename Visit>
  void ForEachRun(int64_t stage, Visit&& visit) const {
    const auto call = [&](size_t i, const KindLayers& layers) {
      const TensorRun& run = shards_->runs()[i];
      if (layers.count > 0) visit(run, shards_->ElementsOf(run), layers);
    };
    const absl::Span<const size_t> ends =
        MayHaveEnds(stage) ? shards_->ends() : absl::Span<const size_t>();
    size_t end = 0;
    for (const StageKind& kind : placement_->KindsOn(stage)) {
      const ModelShards::Range range = shards_->RunsOf(kind.part, kind.layer_kind);
      for (; end < ends.size() && ends[end] < range.first; ++end) {
        call(ends[end], EndLayersOn(stage, TensorOf(ends[end])));
      }
      for (size_t i = range.first; i < range.end; ++i) {
        call(i, LayersOf(TensorOf(i), kind.layers));
      }
    }
    for (; end < ends.size(); ++end) call(ends[end], EndLayersOn(stage, TensorOf(ends[end])));
  }

 private:
  ShardedWeights(std::shared_ptr<const CheckedModel> model,
                 std::shared_ptr<const ModelShards> shards,
                 std::shared_ptr<const LayerPlacement> placement);

  // The first tensor of the `run`th run.
  const WeightTensor& TensorOf(size_t run) const {
    return model_->tensors()[shards_->runs()[run].first];
  }
  // The layers, of all `layers` of a kind on a stage, that have `tensor` of that kind.
  static KindLayers LayersOf(const WeightTensor& tensor, KindLayers layers) {
    if (tensor.trainable_layers == 0) layers.not_frozen = 0;
    if (IsAdapter(tensor)) layers.not_frozen = layers.count;
    return layers;
  }
  // False on most stages: no tensor outside the layers is there.
  bool MayHaveEnds(int64_t stage) const {
    return stage == 0 || stage == last_stage() || stage == placement_->decoder_first_stage() ||
           stage == placement_->encoder_last_stage() || has_relative_positions_;
  }
  KindLayers EndLayersOn(int64_t stage, const WeightTensor& tensor) const;
  bool IsOn(int64_t stage, const WeightTensor& tensor) const;
  bool EndIsOn(int64_t stage, const WeightTensor& tensor) const;
  int64_t FirstHolder(const WeightTensor& tensor) const;
  int64_t last_stage() const { return stage_count() - 1; }

  std::shared_ptr<const CheckedModel> model_;
  std::shared_ptr<const ModelShards> shards_;
  std::shared_ptr<const LayerPlacement> placement_;
  bool tied_;
  bool predicts_further_;                  // has multi-token prediction modules
  bool has_relative_positions_;            // every stage with layers has their table
  std::array<int64_t, 2> lowest_stage_{};  // with layers of encoder and decoder
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_SHARDED_WEIGHTS_H_
