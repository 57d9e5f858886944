#include "engine/operation/graph.h"

#include <algorithm>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/operation/graph_gradients.h"
#include "engine/operation/graph_lifetimes.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {
namespace {

GraphTensorRow RowOf(const GraphNodes& graph, const GraphGradients& gradients, size_t v) {
  const GraphValue& value = graph.values[v];
  GraphTensorRow row;
  row.name = value.array.name;
  row.kind = value.kind;
  row.array = value.array;
  row.size = value.size;
  row.elements = value.elements;
  if (value.root != v) row.view_of = graph.values[value.root].array.name;
  row.has_gradient = gradients.has_gradient[v];
  row.gradient_count = gradients.counts[v];
  return row;
}

GraphOperationRow RowOf(const GraphNodes& graph, GraphNode& node, NodeBackward& backward) {
  GraphOperationRow row;
  row.name = node.spec->name;
  row.kind = node.kind;
  row.operation = std::move(node.operation);
  row.types = node.types;
  row.forward = std::move(node.forward);
  row.backward = std::move(backward.cost);
  row.note = std::move(node.note);
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if ((backward.needed & OperandBit(k)) == 0) continue;
    row.gradients.push_back(graph.values[node.operands[k]].array.name);
  }
  return row;
}

// A sum of bytes that may overflow.
class ByteSum {
 public:
  void Add(Bytes size) { sum_ = sum_ + size.value(); }
  absl::StatusOr<Bytes> Total() const {
    if (sum_.ok()) return Bytes(sum_.value());
    return InvalidField("tensors", "have more than 9.2e18 bytes together: write smaller shapes");
  }

 private:
  CheckedInt sum_ = 0;
};

absl::Status AddParameters(const GraphNodes& graph, const GraphGradients& gradients,
                           GraphTotals& out) {
  ByteSum bytes;
  ByteSum gradient_bytes;
  // At most 2^13 parameters of at most 2^40 elements.
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue& value = graph.values[v];
    if (value.kind != GraphTensorKind::kParameter) continue;
    (value.frozen ? out.frozen_parameters : out.trainable_parameters) += value.elements;
    bytes.Add(value.size);
    if (gradients.has_gradient[v]) gradient_bytes.Add(value.size);
    if (!value.frozen && !gradients.has_gradient[v]) {
      out.parameters_without_gradient += value.elements;
    }
  }
  SEXTANT_ASSIGN_OR_RETURN(out.parameter_bytes, bytes.Total());
  SEXTANT_ASSIGN_OR_RETURN(out.gradient_bytes, gradient_bytes.Total());
  return absl::OkStatus();
}

absl::Status AddOptimizer(const GraphUpdate& update, GraphTotals& out) {
  out.update = update.cost;
  ByteSum all;
  for (const KeptState& state : update.kept) {
    all.Add(state.size);
    const auto same =
        std::find_if(out.optimizer.begin(), out.optimizer.end(),
                     [&state](const OptimizerBuffer& buffer) { return buffer.name == state.name; });
    if (same == out.optimizer.end()) {
      out.optimizer.push_back({state.name, state.size});
    } else if (all.Total().ok()) {
      same->size = same->size + state.size;
    }
  }
  SEXTANT_ASSIGN_OR_RETURN(out.optimizer_bytes, all.Total());
  return absl::OkStatus();
}

absl::StatusOr<GraphTotals> TotalsOf(const GraphNodes& graph, const GraphGradients& gradients,
                                     const GraphUpdate& update) {
  GraphTotals out;
  SEXTANT_RETURN_IF_ERROR(AddParameters(graph, gradients, out));
  SEXTANT_RETURN_IF_ERROR(AddOptimizer(update, out));
  for (const GraphNode& node : graph.nodes) {
    const auto sum = SumOf(out.forward, node.forward.sum);
    if (!sum.ok()) {
      return InvalidField("operations",
                          "more than 9.2e18 bytes move in the forward pass: write smaller sizes");
    }
    out.forward = *sum;
  }
  out.backward = gradients.backward;
  out.backward_input_flops = gradients.input_flops;
  out.backward_parameter_flops = gradients.parameter_flops;
  out.accumulation = gradients.accumulation;
  out.accumulation_count = gradients.accumulation_count;
  return out;
}

}  // namespace

absl::StatusOr<GraphAnalysis> AnalyzeGraph(const GraphSpec& spec) {
  CallWork work;
  return AnalyzeGraph(spec, work);
}

absl::StatusOr<GraphAnalysis> AnalyzeGraph(const GraphSpec& spec, CallWork& work) {
  SEXTANT_ASSIGN_OR_RETURN(GraphNodes graph, BuildGraph(spec, work));
  SEXTANT_ASSIGN_OR_RETURN(GraphGradients gradients, Differentiate(graph, work));
  SEXTANT_ASSIGN_OR_RETURN(const GraphUpdate update, UpdateOf(spec, graph, gradients));
  GraphAnalysis out;
  SEXTANT_ASSIGN_OR_RETURN(out.totals, TotalsOf(graph, gradients, update));
  LifetimeRequest lifetimes = {.graph = graph,
                               .gradients = gradients,
                               .update = update,
                               .work = work,
                               .extent = spec.extent};
  SEXTANT_ASSIGN_OR_RETURN(out.memory, MemoryOf(lifetimes));
  if (!graph.segments.empty()) {
    lifetimes.checkpointed = true;
    SEXTANT_ASSIGN_OR_RETURN(out.checkpointed, MemoryOf(lifetimes));
  }
  for (const size_t loss : gradients.losses) {
    out.losses.push_back(graph.values[loss].array.name);
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    out.tensors.push_back(RowOf(graph, gradients, v));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    out.operations.push_back(RowOf(graph, graph.nodes[i], gradients.nodes[i]));
  }
  return out;
}

}  // namespace sextant
