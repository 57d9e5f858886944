// Reverse accumulation, the optimizer's step, and the totals of an analysis.
#include "engine/operation/graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {
namespace {

// Operands of `node` that can have a gradient and whose values are in `wanted`.
OperandSet Wanted(const GraphNode& node, const std::vector<bool>& wanted) {
  OperandSet set = 0;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    const OperandSet bit = OperandBit(k);
    if ((node.kernels.differentiable & bit) == 0 || node.operands[k] == kNoIndex) continue;
    if (wanted[node.operands[k]]) set |= bit;
  }
  return set;
}

// Reverse accumulation: completes the rows of `graph`, its losses, and of `totals` those of the
// backward pass and of accumulation.
//
// A tensor has a gradient where it depends, through differentiable operands, on something whose
// gradient is requested, and a loss depends on it. Each read of it makes one gradient; the second
// and later ones are added to the first, at one FLOP per element.
//
// Errors: kInvalidArgument "losses[0]" where a named loss needs no gradient; "operations[3]" where
// more than 9.2e18 bytes move.
class Differentiation {
 public:
  Differentiation(GraphNodes& graph, GraphTotals& totals, CallWork& work)
      : graph_(graph), totals_(totals), work_(work) {}

  absl::StatusOr<GraphGradients> Run() {
    current_.assign(graph_.values.size(), kNoIndex);
    FindWanted();
    SEXTANT_RETURN_IF_ERROR(FindLosses());
    FindNeeded();
    for (const size_t loss : graph_.losses) Arrive(loss, NewArray(loss));
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      if (!RowOf(graph_.nodes[i].output).has_gradient) continue;
      SEXTANT_RETURN_IF_ERROR(work_.Spend(kStepsAnOperation));
      const absl::Status status = GoBack(i);
      if (status.ok()) continue;
      FieldViolations violations;
      AddBelow(status, OperationPath(i), violations);
      return violations.ToStatus();
    }
    HoldWhatIsAskedFor();
    return std::move(out_);
  }

 private:
  GraphTensorRow& RowOf(size_t value) { return graph_.values[value].row; }

  // Marks values that depend on something whose gradient is requested.
  void FindWanted() {
    wanted_.assign(graph_.values.size(), false);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const GraphValue& value = graph_.values[v];
      wanted_[v] = value.maker == kNoIndex ? value.gradient_asked_for
                                           : CanHaveGradient(value.row.array) &&
                                                 Wanted(graph_.nodes[value.maker], wanted_) != 0;
    }
  }

  absl::Status FindLosses() {
    FieldViolations violations;
    for (size_t i = 0; i < graph_.losses.size(); ++i) {
      if (wanted_[graph_.losses[i]]) continue;
      violations.Add(absl::StrCat("losses[", i, "]"),
                     absl::StrCat("'", graph_.values[graph_.losses[i]].name(),
                                  "' needs no gradient: it depends on no trained parameter and on "
                                  "no input with requires_gradient"));
    }
    if (!graph_.losses.empty()) return violations.ToStatus();
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const GraphValue& value = graph_.values[v];
      if (value.maker != kNoIndex && !value.is_read && wanted_[v]) graph_.losses.push_back(v);
    }
    return absl::OkStatus();
  }

  // Marks those wanted values that a loss depends on.
  void FindNeeded() {
    for (const size_t loss : graph_.losses) RowOf(loss).has_gradient = true;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      GraphNode& node = graph_.nodes[i];
      if (!RowOf(node.output).has_gradient) continue;
      node.needed = Wanted(node, wanted_);
      for (size_t k = 0; k < node.operands.size(); ++k) {
        if ((node.needed & OperandBit(k)) == 0) continue;
        RowOf(node.operands[k]).has_gradient = true;
        node.row.gradients.push_back(graph_.values[node.operands[k]].name());
      }
    }
  }

  size_t NewArray(size_t value, size_t shares = kNoIndex) {
    out_.arrays.push_back({.value = value, .shares = shares, .last_read = out_.actions.size()});
    return out_.arrays.size() - 1;
  }

  void Arrive(size_t value, size_t array) {
    ++RowOf(value).gradient_count;
    current_[value] = array;
  }

  absl::Status GoBack(size_t i) {
    GraphNode& node = graph_.nodes[i];
    SEXTANT_ASSIGN_OR_RETURN(node.row.backward, BackwardCostOf(node.kernels, node.needed));
    SEXTANT_RETURN_IF_ERROR(AddUp(node));
    const size_t given = current_[node.output];
    out_.arrays[given].last_read = out_.actions.size();
    BackwardAction action = {.node = i, .reads = {given}};
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if ((node.needed & OperandBit(k)) == 0) continue;
      const bool written = WritesGradientOf(node.kernels, k);
      action.makes.push_back(NewArray(node.operands[k], written ? kNoIndex : given));
    }
    const std::vector<size_t> made = action.makes;
    out_.actions.push_back(std::move(action));
    for (const size_t array : made) SEXTANT_RETURN_IF_ERROR(Accumulate(array));
    return absl::OkStatus();
  }

  absl::Status AddUp(const GraphNode& node) {
    const CostSum& sum = node.row.backward->cost.sum;
    SEXTANT_ASSIGN_OR_RETURN(totals_.backward, SumOf(totals_.backward, sum));
    OperandSet inputs = 0;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if ((node.needed & OperandBit(k)) == 0) continue;
      const size_t root = graph_.values[node.operands[k]].root;
      if (!graph_.values[root].is_parameter()) inputs |= OperandBit(k);
    }
    const auto alone = CostOf(node.kernels.backward, inputs);
    SEXTANT_RETURN_IF_ERROR(alone.status());
    totals_.backward_input_flops = totals_.backward_input_flops + alone->sum.flops();
    totals_.backward_parameter_flops =
        totals_.backward_parameter_flops + (sum.flops() - alone->sum.flops());
    return absl::OkStatus();
  }

  // Adds `array` to the gradients that have arrived for its tensor.
  absl::Status Accumulate(size_t array) {
    const size_t value = out_.arrays[array].value;
    const size_t before = current_[value];
    Arrive(value, array);
    if (before == kNoIndex) return absl::OkStatus();
    const GraphTensorRow& tensor = RowOf(value);
    CostSum once;
    once.other_flops = Flops(static_cast<double>(tensor.elements));
    once.read = once.written = tensor.size;
    CostSum again;
    again.read = tensor.size;
    SEXTANT_ASSIGN_OR_RETURN(once, SumOf(once, again));
    SEXTANT_ASSIGN_OR_RETURN(totals_.accumulation, SumOf(totals_.accumulation, once));
    ++totals_.accumulation_count;
    const size_t now = out_.actions.size();
    out_.arrays[before].last_read = out_.arrays[array].last_read = now;
    current_[value] = NewArray(value);
    out_.actions.push_back({.reads = {before, array}, .makes = {current_[value]}});
    return absl::OkStatus();
  }

  void HoldWhatIsAskedFor() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].maker != kNoIndex || !RowOf(v).has_gradient) continue;
      out_.arrays[current_[v]].held = true;
    }
  }

  GraphNodes& graph_;
  GraphTotals& totals_;
  CallWork& work_;
  std::vector<bool> wanted_;     // by value
  std::vector<size_t> current_;  // by value: its gradient so far
  GraphGradients out_;
};

absl::Status Add(const GraphSpec& spec, const GraphTensorRow& parameter, size_t value,
                 GraphUpdate& out) {
  const DataType type = parameter.array.data_type;
  const OperationTypes types = WithDefaults({.input = type, .output = type});
  const OptimizerUpdate update = {
      .parameters = parameter.elements,
      .rule = spec.rule,
      .master_weights = spec.master_weights && type != types.accumulation};
  OpKernels kernels = OpKernelsOf(update, {types, spec.convention});
  for (Movement& m : kernels.forward[0].movements) m.array.shape = parameter.array.shape;
  SEXTANT_ASSIGN_OR_RETURN(const OperationCost cost, CostOf(kernels.forward, kEveryOperand));
  SEXTANT_ASSIGN_OR_RETURN(out.cost, SumOf(out.cost, cost.sum));
  for (const TrafficTerm& term : cost.steps[0].traffic) {
    if (term.array.role != ArrayRole::kState || term.written) continue;
    out.kept.push_back({.value = value, .name = term.array.name, .size = term.size});
  }
  return absl::OkStatus();
}

// Covers the parameters that have a gradient. A parameter as wide as its state needs no separate
// master weight.
//
// Errors: kInvalidArgument "tensors" where more than 9.2e18 bytes move.
absl::StatusOr<GraphUpdate> UpdateOf(const GraphSpec& spec, const GraphNodes& graph) {
  GraphUpdate out;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue& value = graph.values[v];
    if (!value.is_parameter() || !value.row.has_gradient) continue;
    if (!Add(spec, value.row, v, out).ok()) {
      return InvalidField("tensors",
                          "the update of all parameters moves more than 9.2e18 bytes: write "
                          "smaller shapes");
    }
  }
  return out;
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
  SEXTANT_ASSIGN_OR_RETURN(const GraphGradients gradients,
                           Differentiation(graph, out.totals, work).Run());
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
