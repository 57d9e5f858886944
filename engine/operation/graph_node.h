// One operation of a graph: its sizes, its kernels over the graph's tensors, and its cost.
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
  size_t output = 0;           // the value to make
  FlopConvention convention;
};

struct BuiltNode {
  GraphNode node;
  GraphValue value;
};

// Absent where there are errors, which are added below `path`.
absl::optional<BuiltNode> BuildNode(const NodeRequest& request, absl::string_view path,
                                    FieldViolations& violations);

// True where the backward pass writes the gradient of `operand`; false where it passes on the
// output's gradient unchanged.
bool WritesGradientOf(const OpKernels& kernels, size_t operand);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_NODE_H_
