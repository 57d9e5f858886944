// The exact number of parameters on each GPU of each pipeline stage.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_SHARDED_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_SHARDED_WEIGHTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/checked_math.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/sharding/layer_placement.h"
#include "engine/model/sharding/tensor_shard.h"

namespace sextant {

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

// A tensor on a stage, with the number of the stage's layers that have it.
struct StageTensor {
  WeightTensor tensor;  // of the whole model
  TensorShard shard;
  int64_t layers = 0;
  int64_t trainable_layers = 0;
  bool repeated = false;  // a copy: another stage has the first one

  int64_t elements() const { return shard.elements() * layers; }
  int64_t trainable_elements() const { return shard.elements() * trainable_layers; }
};

// Consecutive tensors of one group of ranks that every stage has in the same layers.
struct TensorRun {
  size_t first = 0;
  size_t end = 0;
  ShardGroup group = ShardGroup::kDense;
  int64_t elements = 0;  // of all shards, per layer
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

  const LayerPlacement& placement() const { return placement_; }
  const ArchitectureCount& whole_model() const { return whole_model_; }
  int64_t stage_count() const { return placement_.stage_count(); }

  StageWeights Stage(int64_t stage) const;

  // The tensors that add up to Stage(), in the order of the whole model.
  std::vector<StageTensor> TensorsOf(int64_t stage) const;

  // Calls visit(const WeightTensor&, const TensorShard&, const KindLayers&) for each of them.
  // Allocates nothing.
  template <typename Visit>
  void ForEachTensor(int64_t stage, Visit&& visit) const {
    for (const TensorRun& run : runs_) {
      const KindLayers layers = LayersOn(stage, tensors_[run.first]);
      if (layers.count == 0) continue;
      for (size_t i = run.first; i < run.end; ++i) visit(tensors_[i], shards_[i], layers);
    }
  }

  // The same in sums: calls visit(const TensorRun&, absl::Span<const int64_t>, const KindLayers&),
  // where the span has the elements of each tensor's shard, per layer.
  template <typename Visit>
  void ForEachRun(int64_t stage, Visit&& visit) const {
    for (const TensorRun& run : runs_) {
      const KindLayers layers = LayersOn(stage, tensors_[run.first]);
      if (layers.count == 0) continue;
      visit(run, absl::MakeConstSpan(elements_).subspan(run.first, run.end - run.first), layers);
    }
  }

  // The stage whose GPUs hold the most parameters; the first of several.
  int64_t LargestStage() const;

  // The sum over all GPUs of a job, copies included. `gpus_per_stage` is tensor x data x context
  // parallel size, and a multiple of expert x expert tensor parallel size.
  CheckedInt HeldByJob(int64_t gpus_per_stage) const;

 private:
  ShardedWeights(const ArchitectureSpec& spec, const ParallelLayout& layout, WeightTensors tensors,
                 ArchitectureCount whole_model);

  // Inline, because most tensors are in layers.
  KindLayers LayersOn(int64_t stage, const WeightTensor& tensor) const {
    const bool stack = tensor.part == ModelPart::kEncoder || tensor.part == ModelPart::kDecoder;
    if (tensor.layer_kind < 0 || !stack) return EndLayersOn(stage, tensor);
    KindLayers layers = placement_.On(stage, tensor.part, tensor.layer_kind);
    if (tensor.trainable_layers == 0) layers.not_frozen = 0;
    if (IsAdapter(tensor)) layers.not_frozen = layers.count;
    return layers;
  }
  KindLayers EndLayersOn(int64_t stage, const WeightTensor& tensor) const;
  static bool IsAdapter(const WeightTensor& tensor) {
    return tensor.role == WeightRole::kAdapterDown || tensor.role == WeightRole::kAdapterUp;
  }
  // True where every stage has both in the same layers.
  static bool StandTogether(const WeightTensor& a, const WeightTensor& b);
  void AddToRuns(size_t tensor);
  bool IsOn(int64_t stage, const WeightTensor& tensor) const;
  bool EndIsOn(int64_t stage, const WeightTensor& tensor) const;
  int64_t FirstHolder(const WeightTensor& tensor) const;
  int64_t last_stage() const { return stage_count() - 1; }

  LayerPlacement placement_;
  ArchitectureCount whole_model_;
  WeightTensors tensors_;
  std::vector<TensorShard> shards_;  // of tensors_
  std::vector<int64_t> elements_;    // of shards_
  std::vector<TensorRun> runs_;      // of tensors_
  bool tied_;
  bool predicts_further_;                  // has multi-token prediction modules
  std::array<int64_t, 2> lowest_stage_{};  // with layers of encoder and decoder
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_SHARDED_WEIGHTS_H_
