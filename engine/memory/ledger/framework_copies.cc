#include "engine/memory/ledger/framework_copies.h"

#include "engine/memory/ledger/cast_weights.h"
#include "engine/memory/state/state_list.h"
#include "engine/memory/state/state_ranks.h"
#include "engine/memory/state/term_rule.h"

namespace sextant {
namespace {

DataType ComputedType(const JobSpec& job) { return job.state.precision.weight_data_type; }
DataType ReducedType(const JobSpec& job) { return job.state.precision.gradient_data_type; }
DataType CastType(const JobSpec& job) { return StorageFor(job.batch.compute_data_type); }

// Calls visit(tensor, shard, layers) for what is trained.
template <typename Visit>
void ForEachTrained(const CopiesContext& context, int64_t stage, Visit visit) {
  context.state.weights.ForEachTensor(
      stage, [&visit](const WeightTensor& tensor, const TensorShard& shard, const KindLayers& l) {
        visit(tensor, shard, l.not_frozen);
      });
}

// What rows of a copy have in common.
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
  ForEachTrained(context, stage, [&out](const auto&, const TensorShard& shard, int64_t layers) {
    out += shard.elements() * layers;
  });
  return out;
}

Bytes CastBytes(const CopiesContext& context, const CastWeights& casts, StageMoment moment) {
  int64_t elements = 0;
  casts.ForEachAt(moment, [&elements](const auto&, const TensorShard& shard, int64_t layers) {
    elements += shard.elements() * layers;
  });
  return Bytes(elements * StorageBytes(CastType(context.job)));
}

}  // namespace

bool KeepsComputedGradients(const JobSpec& job) {
  const StateSharding& sharding = job.state.sharding;
  return job.buffers.computed_gradients_stay && !DividesGradients(sharding) &&
         !sharding.offload_optimizer &&
         StorageBytes(ReducedType(job)) > StorageBytes(ComputedType(job));
}

bool KeepsWholeGradients(const JobSpec& job) {
  const bool waits = job.buffers.deferred_reduction && job.pipeline.micro_batch_count > 1 &&
                     job.buffers.gradient_lifetime == GradientLifetime::kFromBackward &&
                     DividesParameters(job.state.sharding);
  if (!waits) return false;
  return StateRanksOf(job.layout, job.state.sharding, job.batch.context_parallel_size).dense > 1;
}

bool CastsWeights(const JobSpec& job) {
  return job.buffers.autocast && !DividesParameters(job.state.sharding) &&
         StorageBytes(job.state.precision.weight_data_type) > StorageBytes(CastType(job));
}

FrameworkCopies FrameworkCopiesOf(const CopiesContext& context, int64_t stage) {
  FrameworkCopies out;
  const JobSpec& job = context.job;
  if (KeepsComputedGradients(job)) {
    const int64_t elements = TrainedElements(context, stage);
    out.computed_gradients = Bytes(elements * StorageBytes(ComputedType(job)));
  }
  if (KeepsWholeGradients(job)) {
    const int64_t elements = TrainedElements(context, stage);
    out.whole_gradients = Bytes(elements * StorageBytes(ReducedType(job)));
  }
  if (!CastsWeights(job)) return out;
  const CastWeights casts(context, stage);
  out.forward_casts = CastBytes(context, casts, StageMoment::kForward);
  out.head_casts = CastBytes(context, casts, StageMoment::kHead);
  out.layer_casts = CastBytes(context, casts, StageMoment::kLayer);
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
                     .why = "added to the wider gradient behind each backward pass, then zeroed",
                     .source = "deepspeedai/DeepSpeed, bf16_optimizer.py; docs/memory.md"};
  ForEachTrained(context, stage, CopyRows(copy, rows));
}

void AppendWholeGradientRows(const CopiesContext& context, int64_t stage, LedgerRows& rows) {
  if (!KeepsWholeGradients(context.job)) return;
  const Copy copy = {.kind = LedgerKind::kTransient,
                     .term = "whole_gradient",
                     .data_type = ReducedType(context.job),
                     .alive = "from a step's first backward pass to its last",
                     .why = "reduced to shards behind the last micro-batch alone",
                     .source = "PyTorch FSDP2, set_requires_gradient_sync(); docs/memory.md"};
  ForEachTrained(context, stage, CopyRows(copy, rows));
}

void AppendCastRows(const CopiesContext& context, int64_t stage, StageMoment moment,
                    LedgerRows& rows) {
  if (!CastsWeights(context.job)) return;
  const Copy copy = {.kind = LedgerKind::kTransient,
                     .term = "cast_weight",
                     .data_type = CastType(context.job),
                     .alive = "from a weight's forward pass to its backward pass",
                     .why = "matrices are multiplied in the compute type",
                     .source = "PyTorch, torch.autocast, cached_cast(); docs/memory.md"};
  CopyRows list(copy, rows);
  CastWeights(context, stage).ForEachAt(moment, [&list](const auto&... of) { list(of...); });
}

}  // namespace sextant
