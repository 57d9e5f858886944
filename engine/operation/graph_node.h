// One operation of a graph: its sizes, its recipe over the graph's tensors, and its cost.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_NODE_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_NODE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {

struct NodeRequest {
  const GraphOperation& operation;
  const std::vector<GraphValue>& values;
  std::vector<size_t> inputs;  // values
  size_t output = 0;           // the value that it is to make
  FlopConvention convention;
};

struct BuiltNode {
  GraphNode node;
  GraphValue value;
};

// Nothing where something is wrong, which is then added below `path`.
absl::optional<BuiltNode> BuildNode(const NodeRequest& request, absl::string_view path,
                                    FieldViolations& violations);

// Whether the backward pass writes the gradient of `operand`; else it is the output's, passed on
// as it is.
bool WritesGradientOf(const Recipe& recipe, size_t operand);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_NODE_H_
