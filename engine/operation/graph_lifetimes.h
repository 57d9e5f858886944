// The lifetime of each array of a training step.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_LIFETIMES_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_LIFETIMES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "engine/operation/graph_gradients.h"
#include "engine/operation/graph_memory.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {

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

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_LIFETIMES_H_
