// Reverse accumulation over a graph: which gradients are made, from what, and for how much.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_GRADIENTS_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/operation/analysis.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {

// A gradient: a tensor's whole one, or one of several that are added up.
struct GradientArray {
  size_t value = kNoIndex;   // the tensor
  size_t shares = kNoIndex;  // the gradient that was passed on as this one, if any
  size_t last_read = 0;      // the last action that reads it; where none does, that which makes it
  bool held = false;         // to the end of the step
};

// What the backward pass does next.
struct BackwardAction {
  size_t node = kNoIndex;          // whose backward it is; kNoIndex where two gradients are added
  std::vector<size_t> reads = {};  // gradient arrays
  std::vector<size_t> makes = {};
};

struct NodeBackward {
  OperandSet needed = 0;  // operands whose gradients are made; of none where nothing is done
  absl::optional<BackwardCost> cost = {};
};

struct GraphGradients {
  std::vector<size_t> losses = {};      // values
  std::vector<bool> has_gradient = {};  // by value
  // By value: gradients that arrive, a loss's own among them.
  std::vector<int64_t> counts = {};
  std::vector<GradientArray> arrays = {};  // those of the losses first
  std::vector<BackwardAction> actions = {};
  std::vector<NodeBackward> nodes = {};  // by node
  CostSum backward = {};
  Flops input_flops = {};
  Flops parameter_flops = {};
  CostSum accumulation = {};
  int64_t accumulation_count = 0;
};

// A tensor has a gradient where it depends, through operands that can have one, on something
// that a gradient is asked of, and a loss depends on it. Each of its readers makes one, an
// operation as often as it reads it; the second and further ones are added to the first, at one
// FLOP an element.
//
// Errors: kInvalidArgument "losses[0]" where a loss that is named needs no gradient;
// "operations[3]" where more than 9.2e18 bytes move.
absl::StatusOr<GraphGradients> Differentiate(const GraphNodes& graph);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_GRADIENTS_H_
