// From when to when each array of a training step is in memory.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_LIFETIMES_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_LIFETIMES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "engine/operation/graph_gradients.h"
#include "engine/operation/graph_memory.h"
#include "engine/operation/graph_nodes.h"
#include "engine/operation/graph_update.h"

namespace sextant {

struct LifetimeRequest {
  const GraphNodes& graph;
  const GraphGradients& gradients;
  const GraphUpdate& update;
  bool checkpointed = false;  // the graph's segments are
  RecomputeExtent extent = RecomputeExtent::kWholeSegment;
};

// One moment after the other: the forward pass in the list's order; the backward pass's actions,
// before the first one of a checkpointed segment its operations again; the update. An array is
// there from the moment that makes it to the last one that reads it, both included.
//
// Gradients that are added up: the sum takes the place of the first one unless that is read
// later, as another gradient that shares its storage; then of the second one; then a place of
// its own.
//
// Errors: kInvalidArgument "operations" where all arrays together exceed 9.2e18 bytes.
absl::StatusOr<GraphMemory> MemoryOf(const LifetimeRequest& request);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_LIFETIMES_H_
