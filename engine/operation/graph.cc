#include "engine/operation/graph.h"

#include <algorithm>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/operation/graph_nodes.h"
#include "engine/operation/graph_step.h"

namespace sextant {
namespace {

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

absl::Status AddParameters(const GraphNodes& graph, GraphTotals& out) {
  ByteSum bytes;
  ByteSum gradient_bytes;
  // At most 2^13 parameters of at most 2^40 elements.
  for (const GraphValue& value : graph.values) {
    if (!value.is_parameter()) continue;
    const int64_t elements = value.row.elements;
    (value.frozen ? out.frozen_parameters : out.trainable_parameters) += elements;
    bytes.Add(value.row.size);
    if (value.row.has_gradient) gradient_bytes.Add(value.row.size);
    if (!value.frozen && !value.row.has_gradient) out.parameters_without_gradient += elements;
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

absl::Status AddForward(const GraphNodes& graph, GraphTotals& out) {
  for (const GraphNode& node : graph.nodes) {
    const auto sum = SumOf(out.forward, node.row.forward.sum);
    if (!sum.ok()) {
      return InvalidField("operations",
                          "more than 9.2e18 bytes move in the forward pass: write smaller sizes");
    }
    out.forward = *sum;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GraphAnalysis> AnalyzeGraph(const GraphSpec& spec) {
  CallWork work;
  return AnalyzeGraph(spec, work);
}

absl::StatusOr<GraphAnalysis> AnalyzeGraph(const GraphSpec& spec, CallWork& work) {
  GraphAnalysis out;
  SEXTANT_ASSIGN_OR_RETURN(GraphNodes graph, BuildGraph(spec, work));
  SEXTANT_ASSIGN_OR_RETURN(const GraphGradients gradients, Differentiate(graph, out.totals, work));
  SEXTANT_ASSIGN_OR_RETURN(const GraphUpdate update, UpdateOf(spec, graph));
  SEXTANT_RETURN_IF_ERROR(AddParameters(graph, out.totals));
  SEXTANT_RETURN_IF_ERROR(AddOptimizer(update, out.totals));
  SEXTANT_RETURN_IF_ERROR(AddForward(graph, out.totals));
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
  for (const size_t loss : graph.losses) out.losses.push_back(graph.values[loss].name());
  for (GraphValue& value : graph.values) out.tensors.push_back(std::move(value.row));
  for (GraphNode& node : graph.nodes) out.operations.push_back(std::move(node.row));
  return out;
}

}  // namespace sextant
