// The parts of a model that its GPUs have under one layout or another.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_MODEL_SHARDS_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_MODEL_SHARDS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/model/architecture/checked_model.h"
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

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_MODEL_SHARDS_H_
