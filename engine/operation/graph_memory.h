// The arrays in memory during a training step over a graph. Private to engine/operation.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_MEMORY_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_MEMORY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/call_work.h"
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

struct GraphGradients {
  std::vector<GradientArray> arrays = {};  // the losses' first
  std::vector<BackwardAction> actions = {};
};

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

struct LifetimeRequest {
  const GraphNodes& graph;
  const GraphGradients& gradients;
  const GraphUpdate& update;
  CallWork& work;
  bool checkpointed = false;  // recompute the graph's segments
  RecomputeExtent extent = RecomputeExtent::kWholeSegment;
};

// Moments in sequence: the forward pass in the list's order; the backward pass's actions, where
// the first one of a checkpointed segment comes after the segment's recomputation; the update. An
// array lives from the moment that makes it to the last one that reads it, both included.
//
// Accumulated gradients: the sum overwrites the first one unless that is read later through
// another gradient that shares its storage; then the second one; else it gets its own storage.
//
// Errors: kInvalidArgument "operations" where all arrays together exceed 9.2e18 bytes.
absl::StatusOr<GraphMemory> MemoryOf(const LifetimeRequest& request);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_MEMORY_H_
