#include "engine/memory/ledger/framework_copies.h"

#include <algorithm>

#include "engine/memory/model_state.h"
#include "engine/memory/state/state_list.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {
namespace {

// The weights of a stage that torch.autocast has casts of, pass by pass. Without recomputation
// autograd keeps all casts from the forward to the backward pass. Recomputed layers have the casts
// of one block at a time; the head, which runs after them, has kept its own. Under a pipeline one
// region is assumed to enclose all micro-batches of a step, which keeps all casts throughout.
class CastWeights {
 public:
  CastWeights(const CopiesContext& context, int64_t stage);

  // Calls visit(const WeightTensor&, const TensorShard&, int64_t layers) for each cast alive at
  // `phase`. Allocates nothing.
  template <typename Visit>
  void ForEachAt(StagePhase phase, const Visit& visit) const {
    const bool backward = phase == StagePhase::kHead || phase == StagePhase::kLayer;
    ForEach([&](const WeightTensor& tensor, const TensorShard& shard, int64_t layers) {
      if (!backward || !one_block_) {
        visit(tensor, shard, layers);
      } else if (phase == StagePhase::kHead) {
        if (IsOfHead(tensor)) visit(tensor, shard, layers);
      } else if (!IsOfHead(tensor) && block_.IsOf(tensor)) {
        visit(tensor, shard, std::min(layers, layers_per_block_));
      }
    });
  }

 private:
  // Layers of one kind that are recomputed together; -1: tensors outside the layers.
  struct Block {
    ModelPart part = ModelPart::kInput;
    int layer_kind = -1;
    int64_t elements = 0;

    bool IsOf(const WeightTensor& tensor) const {
      return tensor.part == part && tensor.layer_kind == layer_kind;
    }
  };

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    context_.state.weights.ForEachTensor(
        stage_, [&](const WeightTensor& tensor, const TensorShard& shard, const KindLayers& l) {
          if (IsCast(tensor)) visit(tensor, shard, LayersCast(tensor, l));
        });
  }

  bool IsCast(const WeightTensor& tensor) const;
  bool IsOfHead(const WeightTensor& tensor) const;
  int64_t LayersCast(const WeightTensor& tensor, const KindLayers& layers) const;
  void FindLargestBlock();

  const CopiesContext& context_;
  const int64_t stage_;
  const bool recomputes_;  // layers
  const bool one_block_;   // a layer's backward pass has the casts of one block
  const int64_t layers_per_block_;
  Block block_;  // the largest
};

CastWeights::CastWeights(const CopiesContext& context, int64_t stage)
    : context_(context),
      stage_(stage),
      recomputes_(RepeatsLayers(context.job.batch.recomputation.policy)),
      one_block_(recomputes_ && context.job.layout.pipeline_parallel_size == 1),
      layers_per_block_(context.job.batch.recomputation.layers_per_block) {
  if (one_block_) FindLargestBlock();
}

// The tensors of one kind of layer in a part are adjacent.
void CastWeights::FindLargestBlock() {
  Block block;
  ForEach([&](const WeightTensor& tensor, const TensorShard& shard, int64_t layers) {
    if (IsOfHead(tensor)) return;
    if (!block.IsOf(tensor)) block = {.part = tensor.part, .layer_kind = tensor.layer_kind};
    block.elements += shard.elements() * std::min(layers, layers_per_block_);
    if (block.elements > block_.elements) block_ = block;
  });
}

// Lookup tables are read as stored, and norms are computed in fp32.
bool CastWeights::IsCast(const WeightTensor& tensor) const {
  return IsHiddenMatrix(tensor) || tensor.component == WeightComponent::kBias || IsOfHead(tensor);
}

bool CastWeights::IsOfHead(const WeightTensor& tensor) const {
  if (tensor.component == WeightComponent::kOutputHead) return true;
  const bool last = stage_ == context_.state.weights.stage_count() - 1;
  return tensor.component == WeightComponent::kTokenEmbedding && last &&
         context_.state.spec.output.head == OutputHeadKind::kTied;
}

// Casts of frozen weights are not cached, and a forward pass without autograd keeps none of them.
// Quantised matrices are counted at their dequantised size.
int64_t CastWeights::LayersCast(const WeightTensor& tensor, const KindLayers& layers) const {
  const bool trained_alone = recomputes_ || IsQuantized(context_.state.state.frozen, tensor);
  return trained_alone ? layers.not_frozen : layers.count;
}

DataType ComputedType(const MemoryJob& job) { return job.state.precision.weight_data_type; }

DataType ReducedType(const MemoryJob& job) { return job.state.precision.gradient_data_type; }

DataType CastType(const MemoryJob& job) { return StorageFor(job.batch.compute_data_type); }

// Whole gradients wait in the type that they are reduced in.
DataType WaitingType(const MemoryJob& job) {
  return job.state.reduces_as_computed ? CastType(job) : ReducedType(job);
}

// Calls visit(tensor, shard, layers) for the trained weights.
template <typename Visit>
void ForEachTrained(const CopiesContext& context, int64_t stage, Visit visit) {
  context.state.weights.ForEachTensor(
      stage, [&visit](const WeightTensor& tensor, const TensorShard& shard, const KindLayers& l) {
        visit(tensor, shard, l.not_frozen);
      });
}

// The fields that rows of a copy share.
struct Copy {
  LedgerKind kind;
  absl::string_view term;
  DataType data_type;
  absl::string_view alive;
  absl::string_view why;
  absl::string_view source;
};

class CopyRows {
 public:
  CopyRows(const Copy& copy, LedgerRows& rows)
      : rule_{.kind = copy.kind,
              .name = copy.term,
              .data_type = copy.data_type,
              .element_bits = kBitsPerByte * StorageBytes(copy.data_type),
              .why = copy.why,
              .source = copy.source},
        alive_(copy.alive),
        rows_(rows),
        list_(&rows) {}

  void operator()(const WeightTensor& tensor, const TensorShard& shard, int64_t layers) {
    if (shard.elements() * layers == 0) return;
    list_.GoTo(tensor, shard);
    list_.AddRow(rule_, {.elements = shard.elements(), .layers = layers}, false);
    rows_.back().alive = alive_;
  }

 private:
  const TermRule rule_;
  const absl::string_view alive_;
  LedgerRows& rows_;
  StateList list_;
};

int64_t TrainedElements(const CopiesContext& context, int64_t stage) {
  int64_t out = 0;
  context.state.weights.ForEachRun(
      stage, [&out](const TensorRun& run, const auto&, const KindLayers& layers) {
        out += run.elements * layers.not_frozen;
      });
  return out;
}

Bytes CastBytes(const CopiesContext& context, const CastWeights& casts, StagePhase phase) {
  int64_t elements = 0;
  casts.ForEachAt(phase, [&elements](const auto&, const TensorShard& shard, int64_t layers) {
    elements += shard.elements() * layers;
  });
  return Bytes(elements * StorageBytes(CastType(context.job)));
}

}  // namespace

bool KeepsComputedGradients(const MemoryJob& job) {
  const StateSharding& sharding = job.state.sharding;
  return job.buffers.computed_gradients_stay && !DividesGradients(sharding) &&
         !OffloadsGradients(job.state) &&
         StorageBytes(ReducedType(job)) > StorageBytes(ComputedType(job));
}

bool KeepsWholeGradients(const MemoryJob& job) {
  const bool waits = job.buffers.deferred_reduction && job.pipeline.micro_batch_count > 1 &&
                     job.buffers.gradient_lifetime == GradientLifetime::kFromBackward &&
                     DividesParameters(job.state.sharding);
  if (!waits) return false;
  return StateRanksOf(job.layout, job.state.sharding, job.batch.context_parallel_size).dense > 1;
}

bool CastsWeights(const MemoryJob& job) {
  return job.buffers.autocast && !DividesParameters(job.state.sharding) &&
         StorageBytes(job.state.precision.weight_data_type) > StorageBytes(CastType(job));
}

FrameworkCopies FrameworkCopiesOf(const CopiesContext& context, int64_t stage) {
  FrameworkCopies out;
  const MemoryJob& job = context.job;
  if (KeepsComputedGradients(job)) {
    const int64_t elements = TrainedElements(context, stage);
    out.computed_gradients = Bytes(elements * StorageBytes(ComputedType(job)));
  }
  if (KeepsWholeGradients(job)) {
    const int64_t elements = TrainedElements(context, stage);
    out.whole_gradients = Bytes(elements * StorageBytes(WaitingType(job)));
  }
  if (!CastsWeights(job)) return out;
  const CastWeights casts(context, stage);
  out.forward_casts = CastBytes(context, casts, StagePhase::kForward);
  out.head_casts = CastBytes(context, casts, StagePhase::kHead);
  out.layer_casts = CastBytes(context, casts, StagePhase::kLayer);
  return out;
}

FrameworkCopies SumOf(const FrameworkCopies& a, const FrameworkCopies& b) {
  return {.computed_gradients = a.computed_gradients + b.computed_gradients,
          .whole_gradients = a.whole_gradients + b.whole_gradients,
          .forward_casts = a.forward_casts + b.forward_casts,
          .head_casts = a.head_casts + b.head_casts,
          .layer_casts = a.layer_casts + b.layer_casts};
}

void AppendComputedGradientRows(const CopiesContext& context, int64_t stage, LedgerRows& rows) {
  if (!KeepsComputedGradients(context.job)) return;
  const Copy copy = {.kind = LedgerKind::kGradient,
                     .term = "computed_gradient",
                     .data_type = ComputedType(context.job),
                     .alive = "from a step's first backward pass to its end",
                     .why = "added to the wider gradient after each backward pass, then zeroed",
                     .source = "deepspeedai/DeepSpeed, bf16_optimizer.py; docs/memory.md"};
  ForEachTrained(context, stage, CopyRows(copy, rows));
}

void AppendWholeGradientRows(const CopiesContext& context, int64_t stage, LedgerRows& rows) {
  if (!KeepsWholeGradients(context.job)) return;
  const Copy copy = {.kind = LedgerKind::kTransient,
                     .term = "whole_gradient",
                     .data_type = WaitingType(context.job),
                     .alive = "from a step's first backward pass to its last",
                     .why = "reduced to shards only after the last micro-batch",
                     .source = "PyTorch FSDP2, set_requires_gradient_sync(); docs/memory.md"};
  ForEachTrained(context, stage, CopyRows(copy, rows));
}

void AppendCastRows(const CopiesContext& context, int64_t stage, StagePhase phase,
                    LedgerRows& rows) {
  if (!CastsWeights(context.job)) return;
  const Copy copy = {.kind = LedgerKind::kTransient,
                     .term = "cast_weight",
                     .data_type = CastType(context.job),
                     .alive = "from a weight's forward pass to its backward pass",
                     .why = "matrices are multiplied in the compute type",
                     .source = "PyTorch, torch.autocast, cached_cast(); docs/memory.md"};
  CopyRows list(copy, rows);
  CastWeights(context, stage).ForEachAt(phase, [&list](const auto&... of) { list(of...); });
}

Bytes StepCopiesOf(const MemoryJob& job, const StageState& state) {
  if (job.state.optimizer.in_backward) return Bytes(0);  // a parameter at a time
  const double share = StepCopyShare(job.state.optimizer.kind, job.buffers.optimizer_loop);
  const Bytes moments(RoundedInt(static_cast<double>(state.optimizer_state.value()) * share));
  const int64_t kept = StorageBytes(job.state.precision.gradient_data_type);
  if (!job.buffers.widens_gradients_at_step || kept >= 4) return moments;
  const Bytes flat(job.buffers.flattens_gradients_at_step ? state.master_weights.value() / 4 * kept
                                                          : 0);
  return state.master_weights + flat + moments;
}

}  // namespace sextant
