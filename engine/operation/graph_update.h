// The optimizer's step over a graph's parameters, and what it keeps.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_UPDATE_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_UPDATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/operation/graph_gradients.h"
#include "engine/operation/graph_nodes.h"
#include "engine/operation/graph_spec.h"

namespace sextant {

// An array that the optimizer keeps for one parameter.
struct KeptState {
  size_t value = kNoIndex;
  std::string name;  // "state 1", "master weight"
  Bytes size = Bytes(0);
};

struct GraphUpdate {
  CostSum cost = {};
  std::vector<KeptState> kept = {};
};

// Of the parameters that have a gradient. One that is as wide as its state needs no master
// weight: it is one.
//
// Errors: kInvalidArgument "tensors" where more than 9.2e18 bytes move.
absl::StatusOr<GraphUpdate> UpdateOf(const GraphSpec& spec, const GraphNodes& graph,
                                     const GraphGradients& gradients);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_UPDATE_H_
