#include "server/convert/compute.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/memory/ledger_row.h"
#include "server/convert/enums.h"
#include "server/convert/kernel.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

static_assert(kMaxOperations == kMaxLedgerRows);
using CollectiveKindPair = OneLater<CollectiveKind::kRing, v1::CollectiveExtent::Kind_MAX>;
using TraceGroupPair = OneLater<TraceGroup::kExpertTensor, v1::CollectiveExtent::Group_MAX>;

// Writes the size of an operation.
struct WorkWriter {
  v1::TimedOperation* out;

  void operator()(const MatmulWork& work) const {
    v1::MatmulExtent* const wire = out->mutable_matmul();
    wire->set_m(work.m);
    wire->set_n(work.n);
    wire->set_k(work.k);
    wire->set_batch_count(work.batch);
  }
  void operator()(const GroupedMatmulWork& work) const {
    v1::GroupedMatmulExtent* const wire = out->mutable_grouped_matmul();
    wire->set_expert_count(work.experts);
    wire->set_rows_per_expert(work.rows_per_expert);
    wire->set_n(work.n);
    wire->set_k(work.k);
  }
  void operator()(const AttentionWork& work) const {
    v1::AttentionExtent* const wire = out->mutable_attention();
    wire->set_batch_count(work.batch);
    wire->set_query_count(work.queries);
    wire->set_key_count(work.keys);
    wire->set_head_count(work.heads);
    wire->set_key_value_head_count(work.key_value_heads);
    wire->set_query_key_head_size(work.query_key_head_size);
    wire->set_value_head_size(work.value_head_size);
    wire->set_causal(work.causal);
    wire->set_window_size(work.window);
  }
  void operator()(const PassWork& work) const {
    v1::MemoryTraffic* const wire = out->mutable_memory_pass();
    wire->set_read_bytes(work.read_bytes);
    wire->set_written_bytes(work.written_bytes);
    wire->set_sums_rows(work.sums_rows);
  }
  void operator()(const CollectiveWork& work) const {
    v1::CollectiveExtent* const wire = out->mutable_collective();
    wire->set_kind(CollectiveKindPair::To(work.kind));
    wire->set_group(TraceGroupPair::To(work.group));
    wire->set_size_bytes(work.bytes);
  }
};

class ComputeWriter {
 public:
  ComputeWriter(const ComputeEstimate& compute, const std::vector<std::string>& layer_kinds,
                SourceNumbers& sources)
      : compute_(compute), layer_kinds_(layer_kinds), sources_(sources) {}

  void StageTo(const StageCompute& stage, v1::StageCompute* out) const {
    out->set_first_stage(stage.first_stage);
    out->set_stage_count(stage.stage_count);
    IntervalTo(stage.forward, out->mutable_forward_seconds());
    IntervalTo(stage.backward, out->mutable_backward_seconds());
    IntervalTo(stage.micro_batch, out->mutable_micro_batch_seconds());
    IntervalTo(stage.step, out->mutable_step_seconds());
    out->set_flops(stage.flops);
    out->mutable_host()->set_launches(stage.host.launches);
    IntervalTo(stage.host.seconds, out->mutable_host()->mutable_seconds());
    out->mutable_host()->set_bound(stage.host.bound);
    for (const TimedOperation& operation : stage.operations) {
      OperationTo(operation, stage.micro_batch.expected, out->add_operations());
    }
    for (const TimedOperation& operation : stage.step_operations) {
      StepOperationTo(operation, stage.step.expected, out->add_step_operations());
    }
  }

 private:
  void OperationTo(const TimedOperation& operation, Seconds whole, v1::TimedOperation* out) const {
    out->set_part(ModelPartPair::To(operation.part));
    if (operation.layer_kind >= 0) {
      out->set_layer_kind(layer_kinds_[static_cast<size_t>(operation.layer_kind)]);
    }
    out->set_training_pass(TracePassPair::To(operation.op.pass));
    StepOperationTo(operation, whole, out);
  }

  // The fields that operations of a micro-batch and of a step have.
  void StepOperationTo(const TimedOperation& operation, Seconds whole,
                       v1::TimedOperation* out) const {
    const TraceOp& op = operation.op;
    out->set_layer_count(operation.layers);
    out->set_module(Text(op.module));
    out->set_name(Text(op.name));
    std::visit(WorkWriter{out}, op.work);
    out->set_narrow(op.narrow);
    out->set_launches(op.launches * operation.layers);
    out->set_flops(op.flops * static_cast<double>(operation.layers));
    if (!out->has_collective()) {
      TimeTo(operation, whole, out);
    } else if (operation.time.expected > Seconds(0)) {
      IntervalTo(Exactly(operation.time.expected), out->mutable_seconds());
    }
  }

  void TimeTo(const TimedOperation& operation, Seconds whole, v1::TimedOperation* out) const {
    IntervalTo(operation.time.interval(), out->mutable_seconds());
    if (whole > Seconds(0)) out->set_share(operation.time.expected.value() / whole.value());
    out->set_basis(KernelBasisPair::To(operation.time.basis));
    out->set_source_number(sources_.Of(compute_.sources[operation.source].citation));
  }

  const ComputeEstimate& compute_;
  const std::vector<std::string>& layer_kinds_;
  SourceNumbers& sources_;
};

}  // namespace

void ComputeTo(const ComputeEstimate& compute, const std::vector<std::string>& layer_kinds,
               SourceNumbers& sources, v1::Compute* out) {
  const ComputeWriter writer(compute, layer_kinds, sources);
  for (const StageCompute& stage : compute.stages) writer.StageTo(stage, out->add_stages());
}

}  // namespace sextant::server
