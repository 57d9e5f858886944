#include "engine/operation/graph_arrays.h"

#include <algorithm>

namespace sextant {
namespace {

bool Has(const std::vector<OwnArray>& arrays, const std::string& name) {
  return std::any_of(arrays.begin(), arrays.end(),
                     [&name](const OwnArray& array) { return array.name == name; });
}

void AddTraffic(const OperationCost& cost, std::vector<OwnArray>& out) {
  for (const StepCost& step : cost.steps) {
    for (const TrafficTerm& term : step.traffic) {
      const bool statistic = term.array.role == ArrayRole::kStatistic;
      if (!statistic && term.array.role != ArrayRole::kScratch) continue;
      if (Has(out, term.array.name)) continue;
      out.push_back({term.array.name, statistic ? StorageKind::kStatistic : StorageKind::kScratch,
                     term.size});
    }
  }
}

// The value that `name` of the recipe is; kNoIndex if it is the node's own.
size_t ValueNamed(const GraphNode& node, const std::string& name) {
  if (node.recipe.outputs[0].name == name) return node.output;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if (node.recipe.operands[k].name == name) return node.operands[k];
  }
  return kNoIndex;
}

bool IsTable(const GraphNode& node, const std::string& name) {
  const auto& operands = node.recipe.operands;
  return std::any_of(operands.begin(), operands.end(),
                     [&name](const Array& array) { return array.name == name; });
}

}  // namespace

std::vector<OwnArray> TablesOf(const GraphNode& node) {
  std::vector<OwnArray> out;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if (node.operands[k] != kNoIndex) continue;
    const Array& array = node.recipe.operands[k];
    // The forward pass reads it, so that its size is known.
    out.push_back({array.name, StorageKind::kTable, BytesOf(array).value_or(Bytes(0))});
  }
  return out;
}

std::vector<OwnArray> OwnArraysOf(const GraphNode& node, const NodeBackward& backward) {
  std::vector<OwnArray> out;
  if (backward.cost.has_value()) {
    for (const SavedArray& saved : backward.cost->saved) {
      if (saved.array.role != ArrayRole::kStatistic) continue;
      out.push_back({saved.array.name, StorageKind::kStatistic, saved.size});
    }
  }
  AddTraffic(node.forward, out);
  return out;
}

std::vector<OwnArray> BackwardScratchOf(const NodeBackward& backward) {
  std::vector<OwnArray> all;
  AddTraffic(backward.cost->cost, all);
  std::vector<OwnArray> out;
  for (OwnArray& array : all) {
    if (array.kind == StorageKind::kScratch) out.push_back(std::move(array));
  }
  return out;
}

std::vector<SavedSource> SavedSourcesOf(const GraphNodes& graph, const GraphGradients& gradients,
                                        size_t node) {
  std::vector<SavedSource> out;
  if (!gradients.nodes[node].cost.has_value()) return out;
  const GraphNode& n = graph.nodes[node];
  for (const SavedArray& saved : gradients.nodes[node].cost->saved) {
    const std::string& name = saved.array.name;
    SavedSource source = {.array = &saved, .value = ValueNamed(n, name)};
    if (source.value != kNoIndex) {
      source.maker = graph.values[graph.values[source.value].root].maker;
    } else if (!IsTable(n, name)) {
      source.maker = node;
    }
    out.push_back(source);
  }
  return out;
}

}  // namespace sextant
