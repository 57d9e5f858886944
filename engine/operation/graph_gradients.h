// Reverse accumulation over a graph: the gradients, their inputs and their cost; and the
// optimizer's step after it.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_GRADIENTS_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/operation/analysis.h"
#include "engine/operation/graph.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {

// A gradient of a tensor: the whole one, or one of several that are accumulated.
struct GradientArray {
  size_t value = kNoIndex;   // the tensor
  size_t shares = kNoIndex;  // the gradient whose storage it shares, if any
  size_t last_read = 0;      // the last action that reads it, else the one that makes it
  bool held = false;         // to the end of the step
};

// One action of the backward pass.
struct BackwardAction {
  size_t node = kNoIndex;          // the node it differentiates; kNoIndex: adds two gradients
  std::vector<size_t> reads = {};  // gradient arrays
  std::vector<size_t> makes = {};
};

struct NodeBackward {
  OperandSet needed = 0;  // operands whose gradients are made; 0: nothing to do
  absl::optional<BackwardCost> cost = {};
};

struct GraphGradients {
  std::vector<size_t> losses = {};      // values
  std::vector<bool> has_gradient = {};  // by value
  // By value: the number of gradients that arrive, including a loss's own.
  std::vector<int64_t> counts = {};
  std::vector<GradientArray> arrays = {};  // the losses' first
  std::vector<BackwardAction> actions = {};
  std::vector<NodeBackward> nodes = {};  // by node
  CostSum backward = {};
  Flops input_flops = {};
  Flops parameter_flops = {};
  CostSum accumulation = {};
  int64_t accumulation_count = 0;
};

// A tensor has a gradient where it depends, through differentiable operands, on something whose
// gradient is requested, and a loss depends on it. Each read of it makes one gradient; the second
// and later ones are added to the first, at one FLOP per element.
//
// Errors: kInvalidArgument "losses[0]" where a named loss needs no gradient; "operations[3]" where
// more than 9.2e18 bytes move.
absl::StatusOr<GraphGradients> Differentiate(const GraphNodes& graph, CallWork& work);

// An array that the optimizer keeps for one parameter.
struct KeptState {
  size_t value = kNoIndex;
  std::string name;  // "state 1", "master weight"
  Bytes size = Bytes(0);
};

// The optimizer's step over a graph's parameters, and its state.
struct GraphUpdate {
  CostSum cost = {};
  std::vector<KeptState> kept = {};
};

// Covers the parameters that have a gradient. A parameter as wide as its state needs no separate
// master weight.
//
// Errors: kInvalidArgument "tensors" where more than 9.2e18 bytes move.
absl::StatusOr<GraphUpdate> UpdateOf(const GraphSpec& spec, const GraphNodes& graph,
                                     const GraphGradients& gradients);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_GRADIENTS_H_
