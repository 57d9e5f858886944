#include "tests/engine/model/sharding/naive_ranks.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/model/architecture/model_weights.h"

namespace sextant {
namespace {

struct Gpu {
  int64_t tensor_rank;
  int64_t expert_rank;
  int64_t expert_tensor_rank;
};

// True where item `i` of `size`, distributed in order over `ranks`, is `rank`'s.
bool IsDealt(int64_t i, int64_t size, int64_t ranks, int64_t rank) {
  return i / (size / ranks) == rank;
}

// Which rows and columns of a matrix a GPU computes with.
class Needs {
 public:
  Needs(const ArchitectureSpec& spec, const ParallelLayout& layout, const WeightTensor& t, Gpu gpu)
      : t_(t), gpu_(gpu), ranks_(layout.tensor_parallel_size), layout_(layout) {
    if (t.layer_kind < 0) return;
    layer_ = &spec.layer_kinds[static_cast<size_t>(t.layer_kind)];
    if (t.module == "attention") attention_ = &*layer_->attention;
    if (t.module == "cross_attention") attention_ = &*layer_->cross_attention;
  }

  bool Element(int64_t copy, int64_t row, int64_t column) const {
    if (t_.module == "experts" &&
        !IsDealt(copy, t_.copies, layout_.expert_parallel_size, gpu_.expert_rank)) {
      return false;
    }
    switch (t_.role) {
      case WeightRole::kWeight:
        return Row(copy, row) && Column(copy, column);
      case WeightRole::kAdapterDown:
        return Column(copy, column);
      case WeightRole::kAdapterUp:
      case WeightRole::kBias:
        return Row(copy, row);
    }
    return false;
  }

 private:
  bool MyHead(int64_t head) const {
    return IsDealt(head, attention_->head_count, ranks_, gpu_.tensor_rank);
  }
  bool MyKeyHead(int64_t key_head) const {
    const int64_t queries = attention_->head_count / attention_->key_value_head_count;
    for (int64_t i = 0; i < queries; ++i) {
      if (MyHead(key_head * queries + i)) return true;
    }
    return false;
  }
  bool MyNeuron(int64_t copy, int64_t neuron) const {
    if (t_.module == "experts") {
      const int64_t ranks =
          layout_.expert_tensor_parallel_size == 0 ? ranks_ : layout_.expert_tensor_parallel_size;
      return IsDealt(neuron, layer_->experts->expert.size, ranks, gpu_.expert_tensor_rank);
    }
    if (t_.module == "feed_forward") {
      return IsDealt(neuron, layer_->feed_forward->size, ranks_, gpu_.tensor_rank);
    }
    const int64_t size = layer_->experts->shared_expert.size;
    return IsDealt(copy * size + neuron, size * t_.copies, ranks_, gpu_.tensor_rank);
  }

  bool Row(int64_t copy, int64_t row) const {
    if (t_.module == "token_embedding" || t_.module == "output_head" || t_.module == "projection") {
      return IsDealt(row, t_.rows, ranks_, gpu_.tensor_rank);
    }
    if (t_.module == "expert_latent") return true;
    if (attention_ != nullptr) return HeadRow(row);
    if (t_.name == "gate" || t_.name == "up") return MyNeuron(copy, row);
    return true;
  }
  bool IsOfKeyHeads() const {
    return t_.name == "key" || t_.name == "value" ||
           (t_.name == "key_norm" && attention_->query_key_norm == QueryKeyNorm::kAllHeads);
  }
  bool HeadRow(int64_t row) const {
    const int64_t key = attention_->query_key_head_size;
    const bool all_heads = attention_->query_key_norm == QueryKeyNorm::kAllHeads;
    if (t_.name == "query" || t_.name == "query_up") return MyHead(row / key);
    if (layout_.split_key_value_heads && IsOfKeyHeads()) {
      return IsDealt(row, t_.rows, ranks_, gpu_.tensor_rank);
    }
    if (t_.name == "key") return MyKeyHead(row / key);
    if (t_.name == "value") return MyKeyHead(row / attention_->value_head_size);
    if (t_.name == "key_value_up") {
      const int64_t plain = key - attention_->latent->rotary_size;
      return MyHead(row / (plain + attention_->value_head_size));
    }
    if (t_.name == "sinks") return MyHead(row);
    if (t_.name == "output_gate") {
      const bool by_head = attention_->output_gate == OutputGate::kPerHead;
      return MyHead(by_head ? row : row / attention_->value_head_size);
    }
    if (t_.name == "query_norm" && all_heads) return MyHead(row / key);
    if (t_.name == "key_norm" && all_heads) return MyKeyHead(row / key);
    return true;
  }
  bool Column(int64_t copy, int64_t column) const {
    if (attention_ != nullptr && t_.name == "output") {
      return MyHead(column / attention_->value_head_size);
    }
    if (t_.name == "down" && t_.module != "expert_latent") return MyNeuron(copy, column);
    return true;
  }

  const WeightTensor& t_;
  const Gpu gpu_;
  const int64_t ranks_;
  const ParallelLayout& layout_;
  const LayerSpec* layer_ = nullptr;
  const AttentionSpec* attention_ = nullptr;
};

// One layer of the forward pass, and where it runs.
struct Layer {
  ModelPart part;
  int kind;
  bool frozen;
  int64_t stage = 0;
};

std::vector<Layer> LayersOneByOne(const ArchitectureSpec& spec, const ParallelLayout& layout) {
  std::vector<Layer> layers;
  for (const LayerRun& run : spec.encoder.layers) {
    layers.insert(layers.end(), static_cast<size_t>(run.count),
                  {ModelPart::kEncoder, run.layer_kind, run.frozen});
  }
  for (const LayerRun& run : spec.decoder.layers) {
    layers.insert(layers.end(), static_cast<size_t>(run.count),
                  {ModelPart::kDecoder, run.layer_kind, run.frozen});
  }
  const int64_t chunks = layout.pipeline_parallel_size * layout.virtual_stage_count;
  size_t next = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t count = layout.layers_per_chunk.empty()
                              ? static_cast<int64_t>(layers.size()) / chunks
                              : layout.layers_per_chunk[static_cast<size_t>(chunk)];
    for (int64_t i = 0; i < count; ++i) {
      layers[next++].stage = chunk % layout.pipeline_parallel_size;
    }
  }
  return layers;
}

// A tensor of one layer, or one that is outside layers, and the stages that need it.
struct Instance {
  size_t tensor;
  bool trainable;
  std::set<int64_t> stages;
};

class Walk {
 public:
  Walk(const ArchitectureSpec& spec, const ParallelLayout& layout)
      : spec_(spec),
        layout_(layout),
        tensors_(WeightsOf(spec)),
        layers_(LayersOneByOne(spec, layout)),
        last_(layout.pipeline_parallel_size - 1) {}

  std::vector<Instance> Instances() {
    for (size_t i = 0; i < tensors_.size(); ++i) AddInstances(i);
    return out_;
  }
  const WeightTensors& tensors() const { return tensors_; }

 private:
  bool Trains(const WeightTensor& t, bool frozen_layer) const {
    const bool adapter = t.role == WeightRole::kAdapterDown || t.role == WeightRole::kAdapterUp;
    if (adapter) return true;
    const auto& frozen = spec_.frozen_components;
    return !spec_.base_frozen && !frozen_layer && t.name != "correction" &&
           std::find(frozen.begin(), frozen.end(), t.component) == frozen.end();
  }

  void AddInstances(size_t i) {
    const WeightTensor& t = tensors_[i];
    if (t.part == ModelPart::kOutput || t.part == ModelPart::kMultiTokenPrediction) {
      for (int64_t n = 0; n < t.layers; ++n) out_.push_back({i, Trains(t, false), {last_}});
    } else if (t.layer_kind < 0) {
      out_.push_back({i, Trains(t, false), StagesOfEnd(t)});
    } else {
      for (const Layer& layer : layers_) {
        if (layer.part != t.part || layer.kind != t.layer_kind) continue;
        out_.push_back({i, Trains(t, layer.frozen), {layer.stage}});
      }
    }
  }

  // The stages that embed tokens for `part`, the first layer of the second stack among them.
  std::set<int64_t> Embedding(ModelPart part) const {
    if (part == layers_.front().part) return {0};
    for (const Layer& layer : layers_) {
      if (layer.part == part) return {layer.stage};
    }
    return {};
  }

  std::set<int64_t> StagesOfEnd(const WeightTensor& t) const {
    std::set<int64_t> out;
    const bool further = spec_.multi_token_prediction.has_value();
    if (t.part == ModelPart::kInput) {
      out = Embedding(ModelPart::kEncoder);
      out.merge(Embedding(ModelPart::kDecoder));
      const bool is_head =
          t.module == "token_embedding" && spec_.output.head == OutputHeadKind::kTied;
      if (further || is_head) out.insert(last_);
    } else if (t.module == "relative_position_bias") {
      for (const Layer& layer : layers_) {
        if (layer.part == t.part) out.insert(layer.stage);
      }
    } else if (t.name == "final") {
      for (const Layer& layer : layers_) {
        if (layer.part == t.part) out = {layer.stage};
      }
      if (t.part == layers_.back().part) out = {last_};
    } else {
      out = Embedding(t.part);
      if (further && t.module == "position_embedding" && t.part == ModelPart::kDecoder) {
        out.insert(last_);
      }
    }
    return out;
  }

  const ArchitectureSpec& spec_;
  const ParallelLayout& layout_;
  const WeightTensors tensors_;
  const std::vector<Layer> layers_;
  const int64_t last_;
  std::vector<Instance> out_;
};

Gpu GpuOf(int64_t index, const ParallelLayout& layout) {
  const int64_t expert_tensor = layout.expert_tensor_parallel_size == 0
                                    ? layout.tensor_parallel_size
                                    : layout.expert_tensor_parallel_size;
  return {.tensor_rank = index % layout.tensor_parallel_size,
          .expert_rank = index / expert_tensor % layout.expert_parallel_size,
          .expert_tensor_rank = index % expert_tensor};
}

int64_t GpusPerStage(const ParallelLayout& layout) {
  const int64_t expert_tensor = layout.expert_tensor_parallel_size == 0
                                    ? layout.tensor_parallel_size
                                    : layout.expert_tensor_parallel_size;
  return std::lcm(layout.tensor_parallel_size, expert_tensor * layout.expert_parallel_size);
}

// The elements of `t` that `needs` asks for, marked in `any` as well.
int64_t Mark(const WeightTensor& t, const Needs& needs, std::vector<bool>& any) {
  int64_t count = 0;
  size_t element = 0;
  for (int64_t copy = 0; copy < t.copies; ++copy) {
    for (int64_t row = 0; row < t.rows; ++row) {
      for (int64_t column = 0; column < t.columns; ++column, ++element) {
        if (!needs.Element(copy, row, column)) continue;
        ++count;
        any[element] = true;
      }
    }
  }
  return count;
}

}  // namespace

NaiveRanks PlaceElementwise(const ArchitectureSpec& spec, const ParallelLayout& layout) {
  Walk walk(spec, layout);
  const WeightTensors& tensors = walk.tensors();
  const auto stages = static_cast<size_t>(layout.pipeline_parallel_size);
  NaiveRanks out = {.gpus_per_stage = GpusPerStage(layout)};
  const auto gpus = static_cast<size_t>(out.gpus_per_stage);
  out.held.assign(
      stages, std::vector<std::vector<NaiveCount>>(gpus, std::vector<NaiveCount>(tensors.size())));
  out.distinct_of_stage.assign(stages, 0);
  for (const Instance& instance : walk.Instances()) {
    const WeightTensor& t = tensors[instance.tensor];
    const auto size = static_cast<size_t>(t.rows * t.columns * t.copies);
    std::vector<bool> anywhere(size);
    for (const int64_t stage : instance.stages) {
      std::vector<bool> here(size);
      for (size_t gpu = 0; gpu < gpus; ++gpu) {
        const Gpu at = GpuOf(static_cast<int64_t>(gpu), layout);
        const int64_t count = Mark(t, Needs(spec, layout, t, at), here);
        NaiveCount& held = out.held[static_cast<size_t>(stage)][gpu][instance.tensor];
        held.total += count;
        if (instance.trainable) held.trainable += count;
      }
      out.distinct_of_stage[static_cast<size_t>(stage)] +=
          std::count(here.begin(), here.end(), true);
      for (size_t i = 0; i < size; ++i) anywhere[i] = anywhere[i] || here[i];
    }
    out.distinct += std::count(anywhere.begin(), anywhere.end(), true);
  }
  return out;
}

std::vector<StageTensor> TensorsOn(const ShardedWeights& weights, int64_t stage) {
  std::set<const WeightTensor*> before;
  for (int64_t lower = 0; lower < stage; ++lower) {
    weights.ForEachTensor(lower, [&](const WeightTensor& t, const auto&, const auto&) {
      if (t.layer_kind < 0) before.insert(&t);
    });
  }
  std::vector<StageTensor> out;
  weights.ForEachTensor(stage,
                        [&](const WeightTensor& t, const TensorShard& s, const KindLayers& layers) {
                          out.push_back({.tensor = t,
                                         .shard = s,
                                         .layers = layers.count,
                                         .trainable_layers = layers.not_frozen,
                                         .repeated = before.count(&t) > 0});
                        });
  return out;
}

}  // namespace sextant
