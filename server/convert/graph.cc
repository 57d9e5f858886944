#include "server/convert/graph.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/operation.h"
#include "server/convert/operation_cost.h"
#include "server/convert/tensor.h"

namespace sextant::server {
namespace {

using StorageKindPair = OneLater<StorageKind::kParameterGradient, v1::StorageKind_MAX>;
using GraphTensorKindPair = OneLater<GraphTensorKind::kMade, v1::GraphTensorKind_MAX>;
using RecomputeExtentPair = OneLater<RecomputeExtent::kUntilLastNeeded, v1::RecomputeExtent_MAX>;

void StorageTo(const GraphStorage& storage, v1::GraphStorage* out) {
  out->set_name(storage.name);
  out->set_kind(StorageKindPair::To(storage.kind));
  out->set_size_bytes(storage.size.value());
}

GraphTensor TensorFrom(const v1::GraphTensor& wire, absl::string_view path,
                       FieldViolations& violations) {
  return {.name = wire.name(),
          .shape = ShapeFrom(wire.shape()),
          .data_type = DataTypePair::From(wire.data_type(), {path, "data_type"}, violations),
          .index_bytes = wire.index_bytes(),
          .parameter = wire.parameter(),
          .frozen = wire.frozen(),
          .requires_gradient = wire.requires_gradient()};
}

// Reads the operation's work: exactly one of its two fields.
void WorkFrom(const v1::GraphOperation& wire, absl::string_view path, GraphOperation& out,
              FieldViolations& violations) {
  if (wire.has_operation() == wire.has_rearrange()) {
    violations.Add(path, wire.has_operation() ? "has operation and rearrange: give one of them"
                                              : "is empty: give one of operation, rearrange");
  } else if (wire.has_rearrange()) {
    out.work = Rearrangement{.expression = wire.rearrange().expression(),
                             .sizes = AxisSizesFrom(wire.rearrange().sizes())};
  } else if (auto read = OperationFrom(wire.operation(), FieldPath(path, "operation"), violations);
             read.has_value()) {
    out.work = std::move(read->operation);
  }
}

GraphOperation OperationFrom(const v1::GraphOperation& wire, absl::string_view path,
                             FieldViolations& violations) {
  GraphOperation out = {.name = wire.name(),
                        .inputs = {wire.inputs().begin(), wire.inputs().end()},
                        .output = wire.output().empty() ? wire.name() : wire.output(),
                        .output_data_type = DataTypePair::From(
                            wire.output_data_type(), {path, "output_data_type"}, violations),
                        .segment = wire.segment()};
  WorkFrom(wire, path, out, violations);
  return out;
}

void TensorTo(const GraphTensorRow& row, v1::GraphTensorRow* out) {
  out->set_name(row.name);
  out->set_kind(GraphTensorKindPair::To(row.kind));
  ShapeTo(row.array.shape, out->mutable_shape());
  if (row.array.index_bytes == 0) out->set_data_type(DataTypePair::To(row.array.data_type));
  out->set_size_bytes(row.size.value());
  out->set_view_of(row.view_of);
  out->set_has_gradient(row.has_gradient);
  out->set_gradient_count(row.gradient_count);
}

void OperationTo(const GraphOperationRow& row, bool include_steps, v1::GraphOperationRow* out) {
  out->set_name(row.name);
  out->set_kind(std::string(row.kind));
  CostSumTo(row.forward.sum, out->mutable_forward());
  if (row.backward.has_value()) CostSumTo(row.backward->cost.sum, out->mutable_backward());
  for (const std::string& name : row.gradients) out->add_gradients(name);
  out->set_note(row.note);
  if (!include_steps) return;
  OperationCostTo(row.forward, out->mutable_forward_steps());
  if (row.backward.has_value()) BackwardCostTo(*row.backward, out->mutable_backward_steps());
}

void TotalsTo(const GraphTotals& totals, v1::GraphTotals* out) {
  out->set_trainable_parameters(totals.trainable_parameters);
  out->set_frozen_parameters(totals.frozen_parameters);
  out->set_parameters_without_gradient(totals.parameters_without_gradient);
  out->set_parameter_bytes(totals.parameter_bytes.value());
  out->set_gradient_bytes(totals.gradient_bytes.value());
  for (const OptimizerBuffer& buffer : totals.optimizer) {
    v1::OptimizerBuffer* to = out->add_optimizer();
    to->set_name(buffer.name);
    to->set_size_bytes(buffer.size.value());
  }
  out->set_optimizer_bytes(totals.optimizer_bytes.value());
  CostSumTo(totals.forward, out->mutable_forward());
  CostSumTo(totals.backward, out->mutable_backward());
  out->set_backward_input_flops(totals.backward_input_flops.value());
  out->set_backward_parameter_flops(totals.backward_parameter_flops.value());
  CostSumTo(totals.accumulation, out->mutable_accumulation());
  out->set_accumulation_count(totals.accumulation_count);
  CostSumTo(totals.update, out->mutable_update());
}

void GraphMemoryTo(const GraphMemory& memory, v1::GraphMemory* out) {
  for (const SavedStorage& saved : memory.saved) {
    v1::SavedStorage* to = out->add_saved();
    StorageTo(saved.storage, to->mutable_storage());
    for (const SavedBy& by : saved.by) {
      v1::SavedStorage::Reader* reader = to->add_readers();
      reader->set_operation(by.operation);
      reader->set_reason(by.reason);
    }
  }
  out->set_saved_bytes(memory.saved_bytes.value());
  out->set_peak_bytes(memory.peak_bytes.value());
  out->set_peak_moment(memory.peak_moment);
  for (const GraphStorage& storage : memory.at_peak) StorageTo(storage, out->add_at_peak());
  CostSumTo(memory.recompute, out->mutable_recompute());
  out->set_recomputed_operations(memory.recomputed_operations);
}

}  // namespace

GraphSpec GraphFrom(const v1::Graph& wire, absl::string_view path, FieldViolations& violations) {
  GraphSpec out = {
      .losses = {wire.losses().begin(), wire.losses().end()},
      .checkpointed_segments = {wire.checkpointed_segments().begin(),
                                wire.checkpointed_segments().end()},
      .extent = RecomputeExtentPair::From(wire.recompute_extent(), {path, "recompute_extent"},
                                          violations),
      .data_type = DataTypePair::From(wire.data_type(), {path, "data_type"}, violations),
      .rule = UpdateRulePair::From(wire.optimizer(), {path, "optimizer"}, violations,
                                   UpdateRule::kAdamw),
      .master_weights = wire.master_weights()};
  if (wire.has_transcendental_flops()) {
    out.convention.transcendental = wire.transcendental_flops();
  }
  out.tensors.reserve(static_cast<size_t>(wire.tensors_size()));
  for (int i = 0; i < wire.tensors_size(); ++i) {
    const std::string place = FieldPath(path, absl::StrCat("tensors[", i, "]"));
    out.tensors.push_back(TensorFrom(wire.tensors(i), place, violations));
  }
  out.operations.reserve(static_cast<size_t>(wire.operations_size()));
  for (int i = 0; i < wire.operations_size(); ++i) {
    const std::string place = FieldPath(path, absl::StrCat("operations[", i, "]"));
    out.operations.push_back(OperationFrom(wire.operations(i), place, violations));
  }
  return out;
}

void GraphAnalysisTo(const GraphAnalysis& analysis, bool include_steps,
                     v1::AnalyzeGraphResponse* out) {
  for (const GraphTensorRow& row : analysis.tensors) TensorTo(row, out->add_tensors());
  for (const GraphOperationRow& row : analysis.operations) {
    OperationTo(row, include_steps, out->add_operations());
  }
  for (const std::string& loss : analysis.losses) out->add_losses(loss);
  TotalsTo(analysis.totals, out->mutable_totals());
  GraphMemoryTo(analysis.memory, out->mutable_memory());
  if (analysis.checkpointed.has_value()) {
    GraphMemoryTo(*analysis.checkpointed, out->mutable_checkpointed_memory());
  }
}

}  // namespace sextant::server
