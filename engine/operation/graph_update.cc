#include "engine/operation/graph_update.h"

#include <utility>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

absl::Status Add(const GraphSpec& spec, const GraphValue& parameter, size_t value,
                 GraphUpdate& out) {
  const DataType type = parameter.array.data_type;
  const OperationTypes types = WithDefaults({.input = type, .output = type});
  const OptimizerUpdate update = {
      .parameters = parameter.elements,
      .rule = spec.rule,
      .master_weights = spec.master_weights && type != types.accumulation};
  Recipe recipe = RecipeOf(update, {types, spec.convention});
  for (Movement& m : recipe.forward[0].movements) m.array.shape = parameter.array.shape;
  SEXTANT_ASSIGN_OR_RETURN(const OperationCost cost, CostOf(recipe.forward, kEveryOperand));
  SEXTANT_ASSIGN_OR_RETURN(out.cost, SumOf(out.cost, cost.sum));
  for (const TrafficTerm& term : cost.steps[0].traffic) {
    if (term.array.role != ArrayRole::kState || term.written) continue;
    out.kept.push_back({.value = value, .name = term.array.name, .size = term.size});
  }
  return absl::OkStatus();
}

}  // namespace

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
