// The arrays of a node beside the graph's tensors, and where those that it saves come from.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_ARRAYS_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_ARRAYS_H_

#include <string>
#include <vector>

#include "engine/operation/graph_gradients.h"
#include "engine/operation/graph_memory.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {

struct OwnArray {
  std::string name;
  StorageKind kind = StorageKind::kScratch;
  Bytes size = Bytes(0);
};

// Operands that no tensor of the graph is.
std::vector<OwnArray> TablesOf(const GraphNode& node);

// What the forward pass makes beside the output: statistics, and scratch, each once.
std::vector<OwnArray> OwnArraysOf(const GraphNode& node, const NodeBackward& backward);

// Scratch of the backward pass.
std::vector<OwnArray> BackwardScratchOf(const NodeBackward& backward);

// What a backward pass reads of the forward pass.
struct SavedSource {
  const SavedArray* array = nullptr;
  size_t value = kNoIndex;  // the tensor of the graph, if it is one
  size_t maker = kNoIndex;  // the node that makes its storage; of what is given none
};

// Points into `gradients`.
std::vector<SavedSource> SavedSourcesOf(const GraphNodes& graph, const GraphGradients& gradients,
                                        size_t node);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_ARRAYS_H_
