#include "engine/operation/graph_gradients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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

absl::Status At(const std::string& path, const absl::Status& status) {
  FieldViolations violations;
  for (const FieldViolation& v : FieldViolationsOf(status)) violations.Add(path, v.description);
  return violations.ToStatus();
}

class Differentiation {
 public:
  Differentiation(const GraphNodes& graph, CallWork& work) : graph_(graph), work_(work) {}

  absl::StatusOr<GraphGradients> Run() {
    const size_t values = graph_.values.size();
    out_.nodes.resize(graph_.nodes.size());
    out_.counts.assign(values, 0);
    out_.has_gradient.assign(values, false);
    current_.assign(values, kNoIndex);
    FindWanted();
    SEXTANT_RETURN_IF_ERROR(FindLosses());
    FindNeeded();
    for (const size_t loss : out_.losses) Arrive(loss, NewArray(loss));
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      if (!out_.has_gradient[graph_.nodes[i].output]) continue;
      SEXTANT_RETURN_IF_ERROR(work_.Spend(kStepsAnOperation));
      const absl::Status status = GoBack(i);
      if (!status.ok()) return At(OperationPath(i), status);
    }
    HoldWhatIsAskedFor();
    return std::move(out_);
  }

 private:
  // Marks values that depend on something whose gradient is requested.
  void FindWanted() {
    wanted_.assign(graph_.values.size(), false);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const GraphValue& value = graph_.values[v];
      wanted_[v] = value.maker == kNoIndex ? value.gradient_asked_for
                                           : CanHaveGradient(value.array) &&
                                                 Wanted(graph_.nodes[value.maker], wanted_) != 0;
    }
  }

  absl::Status FindLosses() {
    out_.losses = graph_.losses;
    FieldViolations violations;
    for (size_t i = 0; i < out_.losses.size(); ++i) {
      if (wanted_[out_.losses[i]]) continue;
      violations.Add(absl::StrCat("losses[", i, "]"),
                     absl::StrCat("'", graph_.values[out_.losses[i]].array.name,
                                  "' needs no gradient: it depends on no trained parameter and on "
                                  "no input with requires_gradient"));
    }
    if (!graph_.losses.empty()) return violations.ToStatus();
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const GraphValue& value = graph_.values[v];
      if (value.maker != kNoIndex && !value.is_read && wanted_[v]) out_.losses.push_back(v);
    }
    return absl::OkStatus();
  }

  // Marks those wanted values that a loss depends on.
  void FindNeeded() {
    for (const size_t loss : out_.losses) out_.has_gradient[loss] = true;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const GraphNode& node = graph_.nodes[i];
      if (!out_.has_gradient[node.output]) continue;
      out_.nodes[i].needed = Wanted(node, wanted_);
      for (size_t k = 0; k < node.operands.size(); ++k) {
        if ((out_.nodes[i].needed & OperandBit(k)) == 0) continue;
        out_.has_gradient[node.operands[k]] = true;
      }
    }
  }

  size_t NewArray(size_t value, size_t shares = kNoIndex) {
    out_.arrays.push_back({.value = value, .shares = shares, .last_read = out_.actions.size()});
    return out_.arrays.size() - 1;
  }

  void Arrive(size_t value, size_t array) {
    ++out_.counts[value];
    current_[value] = array;
  }

  absl::Status GoBack(size_t i) {
    const GraphNode& node = graph_.nodes[i];
    NodeBackward& backward = out_.nodes[i];
    SEXTANT_ASSIGN_OR_RETURN(backward.cost, BackwardCostOf(node.kernels, backward.needed));
    SEXTANT_RETURN_IF_ERROR(AddUp(i));
    const size_t given = current_[node.output];
    out_.arrays[given].last_read = out_.actions.size();
    BackwardAction action = {.node = i, .reads = {given}};
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if ((backward.needed & OperandBit(k)) == 0) continue;
      const bool written = WritesGradientOf(node.kernels, k);
      action.makes.push_back(NewArray(node.operands[k], written ? kNoIndex : given));
    }
    const std::vector<size_t> made = action.makes;
    out_.actions.push_back(std::move(action));
    for (const size_t array : made) SEXTANT_RETURN_IF_ERROR(Accumulate(array));
    return absl::OkStatus();
  }

  absl::Status AddUp(size_t i) {
    const GraphNode& node = graph_.nodes[i];
    const NodeBackward& backward = out_.nodes[i];
    SEXTANT_ASSIGN_OR_RETURN(out_.backward, SumOf(out_.backward, backward.cost->cost.sum));
    OperandSet inputs = 0;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if ((backward.needed & OperandBit(k)) == 0) continue;
      const size_t root = graph_.values[node.operands[k]].root;
      if (graph_.values[root].kind != GraphTensorKind::kParameter) inputs |= OperandBit(k);
    }
    const auto alone = CostOf(node.kernels.backward, inputs);
    SEXTANT_RETURN_IF_ERROR(alone.status());
    out_.input_flops = out_.input_flops + alone->sum.flops();
    out_.parameter_flops =
        out_.parameter_flops + (backward.cost->cost.sum.flops() - alone->sum.flops());
    return absl::OkStatus();
  }

  // Adds `array` to the gradients that have arrived for its tensor.
  absl::Status Accumulate(size_t array) {
    const size_t value = out_.arrays[array].value;
    const size_t before = current_[value];
    Arrive(value, array);
    if (before == kNoIndex) return absl::OkStatus();
    const GraphValue& tensor = graph_.values[value];
    CostSum once;
    once.other_flops = Flops(static_cast<double>(tensor.elements));
    once.read = once.written = tensor.size;
    CostSum again;
    again.read = tensor.size;
    SEXTANT_ASSIGN_OR_RETURN(once, SumOf(once, again));
    SEXTANT_ASSIGN_OR_RETURN(out_.accumulation, SumOf(out_.accumulation, once));
    ++out_.accumulation_count;
    const size_t now = out_.actions.size();
    out_.arrays[before].last_read = out_.arrays[array].last_read = now;
    current_[value] = NewArray(value);
    out_.actions.push_back({.reads = {before, array}, .makes = {current_[value]}});
    return absl::OkStatus();
  }

  void HoldWhatIsAskedFor() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].maker != kNoIndex || !out_.has_gradient[v]) continue;
      out_.arrays[current_[v]].held = true;
    }
  }

  const GraphNodes& graph_;
  CallWork& work_;
  std::vector<bool> wanted_;     // by value
  std::vector<size_t> current_;  // by value: its gradient so far
  GraphGradients out_;
};

absl::Status Add(const GraphSpec& spec, const GraphValue& parameter, size_t value,
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

}  // namespace

absl::StatusOr<GraphGradients> Differentiate(const GraphNodes& graph, CallWork& work) {
  return Differentiation(graph, work).Run();
}

absl::StatusOr<GraphUpdate> UpdateOf(const GraphSpec& spec, const GraphNodes& graph,
                                     const GraphGradients& gradients) {
  GraphUpdate out;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue& value = graph.values[v];
    if (value.kind != GraphTensorKind::kParameter || !gradients.has_gradient[v]) continue;
    if (!Add(spec, value, v, out).ok()) {
      return InvalidField("tensors",
                          "the update of all parameters moves more than 9.2e18 bytes: write "
                          "smaller shapes");
    }
  }
  return out;
}

}  // namespace sextant
