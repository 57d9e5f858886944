#include "engine/memory/ledger/standing_buffers.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {
namespace {

struct MatrixShape {
  int64_t rows = 0;
  int64_t columns = 0;

  friend auto operator<=>(const MatrixShape&, const MatrixShape&) = default;
};

// The first of the tensors that Transformer Engine makes one matrix of with `tensor`.
absl::string_view FirstPartOf(const WeightTensor& tensor) {
  if (tensor.name == "key" || tensor.name == "value") return "query";
  if (tensor.name == "gate") return "up";
  return tensor.name;
}

bool IsMatrixOfLayer(const WeightTensor& tensor) {
  return !tensor.is_vector() && tensor.layer_kind >= 0 && tensor.role == WeightRole::kWeight &&
         tensor.component != WeightComponent::kRouter;
}

// The shapes of Transformer Engine's matrices, whose parts are adjacent.
class FusedMatrices {
 public:
  void Add(const WeightTensor& tensor, const TensorShard& shard) {
    const absl::string_view first = FirstPartOf(tensor);
    const bool is_part =
        first == first_ && tensor.layer_kind == layer_kind_ && tensor.module == module_;
    first_ = first;
    layer_kind_ = tensor.layer_kind;
    module_ = tensor.module;
    if (is_part) {
      shapes_.back().rows += shard.rows;
    } else {
      shapes_.push_back({shard.rows, shard.columns});
    }
  }

  // The elements of one matrix of each shape.
  int64_t ElementsOfShapes() && {
    const bool few = shapes_.size() <= kFew;
    if (!few) std::sort(shapes_.begin(), shapes_.end());
    const auto begin = shapes_.begin();
    int64_t out = 0;
    for (auto shape = begin; shape != shapes_.end(); ++shape) {
      const auto first = few || shape == begin ? begin : shape - 1;
      if (std::find(first, shape, *shape) == shape) out += shape->rows * shape->columns;
    }
    return out;
  }

 private:
  static constexpr size_t kFew = 32;  // are found sooner than sorted

  absl::string_view first_;  // of the last matrix
  int layer_kind_ = -1;
  absl::string_view module_;
  absl::InlinedVector<MatrixShape, kFew> shapes_;
};

int64_t ElementsOfShapes(const CopiesContext& context, int64_t stage) {
  FusedMatrices matrices;
  context.state.weights.ForEachTensor(
      stage, [&](const WeightTensor& tensor, const TensorShard& shard, const KindLayers&) {
        if (IsMatrixOfLayer(tensor)) matrices.Add(tensor, shard);
      });
  return std::move(matrices).ElementsOfShapes();
}

int64_t TokensOf(const MicroBatchSpec& batch) {
  return batch.sequence_count * batch.sequence_length / batch.context_parallel_size;
}

// Tokens of all ranks that experts gather, in Megatron-LM's use_global_buffer.
// Source: docs/memory.md, "A layer".
CheckedInt GatheredTokensOf(const CopiesContext& context) {
  const MemoryJob& job = context.job;
  const int64_t ranks = TokenGatheringRanks(job.layout, job.batch);
  const ArchitectureSpec& spec = context.state.spec;
  const bool experts = std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                                   [](const LayerSpec& each) { return each.experts.has_value(); });
  if (ranks == 1 || !experts) return 0;
  const int64_t cut = job.batch.sequence_parallel ? job.layout.tensor_parallel_size : 1;
  return CheckedInt(TokensOf(job.batch) / cut) * ranks * spec.hidden_size;
}

// The scores of the attention with the most.
CheckedInt ScoresOf(const CopiesContext& context) {
  const MicroBatchSpec& batch = context.job.batch;
  int64_t heads = 0;
  for (const LayerSpec& layer : context.state.spec.layer_kinds) {
    if (!layer.attention.has_value()) continue;
    heads = std::max(heads, HeadsOfRank(*layer.attention, context.job.layout).query);
  }
  return CheckedInt(TokensOf(batch)) * heads * batch.sequence_length;
}

bool HasPlaceholders(const BufferSpec& buffers) {
  return buffers.transformer_engine && buffers.fused_weight_gradient &&
         buffers.gradient_lifetime == GradientLifetime::kAlways;
}

bool HasBuckets(const MemoryJob& job) {
  return job.buffers.gradient_buckets_stay && job.state.sharding.zero_stage == ZeroStage::kNone &&
         StateRanksOf(job.layout, job.state.sharding, job.batch.context_parallel_size).dense > 1;
}

}  // namespace

bool GathersIntoGlobalBuffer(const MemoryJob& job) {
  return job.buffers.global_buffer && SequenceRanks(job.batch, job.layout) > 1;
}

Bytes GlobalBufferOf(const CopiesContext& context, bool has_head) {
  const MemoryJob& job = context.job;
  if (!job.buffers.global_buffer) return Bytes(0);
  CheckedInt elements = 0;
  if (has_head && GathersIntoGlobalBuffer(job)) {
    elements = CheckedInt(TokensOf(job.batch)) * context.state.spec.hidden_size;
  }
  const CheckedInt gathered = GatheredTokensOf(context);
  if (!gathered.ok() || (elements.ok() && gathered.value() > elements.value())) elements = gathered;
  if (!job.buffers.transformer_engine && job.batch.attention == AttentionKernel::kUnfused) {
    const CheckedInt scores = ScoresOf(context);
    if (!scores.ok() || scores.value() > elements.value()) elements = scores;
  }
  const CheckedInt size = elements * StorageBytes(job.batch.compute_data_type);
  return Bytes(size.ok() ? size.value() : INT64_MAX / 4);  // a stage that large is refused
}

StandingBuffers StandingBuffersOf(const CopiesContext& context, int64_t stage, bool has_head) {
  const MemoryJob& job = context.job;
  StandingBuffers out;
  out.global_buffer = GlobalBufferOf(context, has_head);
  const PrecisionPolicy& precision = job.state.precision;
  if (HasPlaceholders(job.buffers)) {
    out.placeholder_gradients =
        Bytes(ElementsOfShapes(context, stage) * StorageBytes(precision.weight_data_type));
  }
  if (HasBuckets(job)) {
    const int64_t trainable = context.state.weights.CountOn(stage).trainable;
    out.gradient_buckets = Bytes(trainable * StorageBytes(precision.gradient_data_type));
  }
  if (job.state.sharding.secondary_group_size > 0) {
    const int64_t part = CeilDivide(context.state.weights.CountOn(stage).total,
                                    job.state.sharding.secondary_group_size);
    const int64_t bytes = std::min<int64_t>(StorageBytes(precision.weight_data_type),
                                            StorageBytes(StorageFor(job.batch.compute_data_type)));
    out.secondary_weights = Bytes(part * bytes);
  }
  return out;
}

StandingBuffers SharedBy(const StandingBuffers& a, const StandingBuffers& b) {
  return {.global_buffer = std::max(a.global_buffer, b.global_buffer),
          .placeholder_gradients = std::max(a.placeholder_gradients, b.placeholder_gradients),
          .gradient_buckets = a.gradient_buckets + b.gradient_buckets,
          .secondary_weights = a.secondary_weights + b.secondary_weights};
}

void AppendStandingRows(const StandingBuffers& buffers, LedgerRows& rows) {
  const auto append = [&rows](absl::string_view name, Bytes size, absl::string_view why,
                              absl::string_view source) {
    if (size == Bytes(0)) return;
    rows.push_back({.kind = LedgerKind::kCommunicationBuffer,
                    .module = "framework",
                    .name = name,
                    .element_kind = RowElements::kByte,
                    .element_bits = kBitsPerByte,
                    .elements = size.value(),
                    .size = size,
                    .alive = "always",
                    .why = why,
                    .source = source});
  };
  append("global_buffer", buffers.global_buffer, "gathered inputs of Megatron-LM's own matrices",
         "NVIDIA/Megatron-LM, get_global_memory_buffer(); docs/memory.md");
  append("placeholder_gradients", buffers.placeholder_gradients,
         "an empty gradient for each shape of matrix, whose own is in its buffer",
         "NVIDIA/TransformerEngine, get_dummy_wgrad(); docs/memory.md");
  append("gradient_buckets", buffers.gradient_buckets,
         "gradients are copied into buckets that are reduced",
         "pytorch/pytorch, torch/nn/parallel/distributed.py; docs/memory.md");
  append("secondary_weights", buffers.secondary_weights,
         "a second shard, which backward passes gather from",
         "Wang et al. 2023 (ZeRO++, arXiv 2306.10209) section 3.2");
  append("deferred_head", buffers.deferred_head,
         "inputs and output gradients of the head, until the last backward pass",
         "NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py; docs/memory_schedules.md");
}

}  // namespace sextant
